// Which files a corruption may lie in. Called after an error has happened, so time does not matter here.

internal import StratusStore

enum CorruptionCandidates {
    /// The tables whose keys overlap a range, or nil when the list of tables cannot be read.
    static func tables(in directory: String, from lower: [UInt8], through upper: [UInt8]) -> String? {
        guard let source = try? Manifest.read(in: directory), let manifest = Manifest(source.manifest) else {
            return nil
        }
        let names = (try? FileSystem.names(in: directory)) ?? []
        return manifest.tables.values.filter { $0.overlaps(lower, through: upper) }
            .sorted { ($0.level, $0.number) < ($1.level, $1.number) }
            .map { fileName(of: $0.number, among: names) }
            .joined(separator: ", ")
    }

    /// The error of a read of one key.
    static func error(_ error: EngineError, in directory: String, forKey key: [UInt8]) -> StoreError {
        guard error.isCorruption else { return error.storeError(["key": hexadecimal(key)]) }
        return error.storeError(["key": hexadecimal(key)], candidates: tables(in: directory, from: key, through: key))
    }

    /// The error of a scan.
    static func error(_ error: EngineError, in directory: String, _ range: KeyRange) -> StoreError {
        let fields = ["lowerKey": hexadecimal(range.lower), "upperKey": hexadecimal(bound: range.upper)]
        guard error.isCorruption else { return error.storeError(fields) }
        return error.storeError(
            fields, candidates: tables(in: directory, from: range.lower, through: range.upper))
    }

    /// The error of an opening, for which LevelDB names no file: the logs whose checksums do not fit.
    static func error(_ error: EngineError, opening directory: String) -> StoreError {
        guard error.isCorruption else { return error.storeError(["path": directory]) }
        return error.storeError(["path": directory], candidates: damagedLogs(in: directory).joined(separator: ", "))
    }

    /// The live logs, and the MANIFEST, that were not written as they are.
    static func damagedLogs(in directory: String) -> [String] {
        guard let source = try? Manifest.read(in: directory) else { return [] }
        guard let manifest = Manifest(source.manifest), !manifest.isDamaged else { return [source.manifestName] }
        let names = (try? FileSystem.names(in: directory)) ?? []
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

extension EngineError {
    fileprivate func storeError(_ fields: [String: String], candidates: String?) -> StoreError {
        var fields = fields
        if let candidates, !candidates.isEmpty { fields["candidateFiles"] = candidates }
        return storeError(fields)
    }
}
