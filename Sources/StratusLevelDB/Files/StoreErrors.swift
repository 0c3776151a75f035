// Errors of LevelDB and of the system as `StoreError`, with the files in which a corruption may be. Finding these files
// takes time, which does not matter after an error.

internal import StratusStore

extension EngineError {
    /// The matching code of `StoreError`.
    var storeCode: StoreError.Code {
        if isCorruption { return .corruption }
        if isDiskFull { return .diskFull }
        if isNotPermitted { return .notPermitted }
        if isLockHeld { return .held }
        return .inputOutput
    }

    /// The error as the store's callers get it.
    func storeError(_ fields: [String: String] = [:]) -> StoreError {
        let message: StaticString =
            switch storeCode {
            case .corruption:
                "Bytes on disk are not what was written: restore a backup, or run 'stratus repair-losing-damaged-data'."
            case .diskFull: "The disk is full: free some space, then try again."
            case .notPermitted: "The store's files may not be read or written: change their owner or mode."
            case .held: "The store is open already: close it there first."
            default: "A system call failed: see the cause."
            }
        return StoreError(storeCode, message, fields, cause: text, damage: .files)
    }

    /// The same. The error of a corruption names the files that may hold it.
    fileprivate func storeError(_ fields: [String: String], candidates: () -> String?) -> StoreError {
        guard isCorruption, let candidates = candidates(), !candidates.isEmpty else { return storeError(fields) }
        return storeError(fields.merging(["candidateFiles": candidates]) { own, _ in own })
    }
}

extension EnginePlace {
    /// The error with the directory as it was given.
    func asGiven(_ error: any Error) -> any Error {
        switch error {
        case let error as SystemError: asGiven(error.storeError)
        case let error as StoreError: asGiven(error)
        default: error
        }
    }

    func asGiven(_ error: StoreError) -> StoreError {
        error.with(fields: error.fields.mapValues(asGiven), cause: error.cause.map(asGiven))
    }
}

/// The end of a range as hexadecimal digits; "ff" for an end behind every key.
func hexadecimal(bound: [UInt8]) -> String {
    bound.count > StoreLimits.maximumKeyByteCount && bound.allSatisfy { $0 == 0xFF } ? "ff" : hexadecimal(bound)
}

/// Bytes as hexadecimal digits.
func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

enum CorruptionCandidates {
    /// The tables whose keys overlap a range, or nil if the list of tables cannot be read.
    static func tables(in directory: String, from lower: [UInt8], through upper: [UInt8]) -> String? {
        guard let manifest = (try? Manifest.read(in: directory))?.manifest else { return nil }
        let names = (try? SystemFiles.names(in: directory)) ?? []
        return manifest.tables.values.filter { $0.overlaps(lower, through: upper) }
            .sorted { ($0.level, $0.number) < ($1.level, $1.number) }
            .map { fileName(of: $0.number, among: names) }
            .joined(separator: ", ")
    }

    /// The error of a read of one key.
    static func error(_ error: EngineError, in directory: String, forKey key: [UInt8]) -> StoreError {
        error.storeError(["key": hexadecimal(key)]) { tables(in: directory, from: key, through: key) }
    }

    /// The error of a scan.
    static func error(_ error: EngineError, in directory: String, _ range: KeyRange) -> StoreError {
        error.storeError(["lowerKey": hexadecimal(range.lower), "upperKey": hexadecimal(bound: range.upper)]) {
            tables(in: directory, from: range.lower, through: range.upper)
        }
    }

    /// The error of an opening, for which LevelDB names no file. The candidates are the logs with wrong checksums.
    static func error(_ error: EngineError, opening directory: String) -> StoreError {
        error.storeError(["path": directory]) { damagedLogs(in: directory).joined(separator: ", ") }
    }

    /// The damaged ones of the live logs and the MANIFEST.
    static func damagedLogs(in directory: String) -> [String] {
        guard let (name, found) = try? Manifest.read(in: directory) else { return [] }
        guard let manifest = found, !manifest.isDamaged else { return [name] }
        let names = (try? SystemFiles.names(in: directory)) ?? []
        return manifest.liveLogs(among: names).map(\.name).filter { name in
            switch (try? LogSurvey(name, in: directory))?.finding {
            case .intact, .unfinished: false
            case .lostPages, .damaged, nil: true
            }
        }
    }

    private static func fileName(of number: UInt64, among names: [String]) -> String {
        names.first { StoreFileName($0) == .table(number) } ?? "\(number).ldb (missing)"
    }
}
