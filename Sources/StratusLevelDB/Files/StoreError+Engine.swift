// LevelDB's errors in the words of the seam.

internal import StratusStore

extension EngineError {
    /// The code of the seam that fits best.
    var storeCode: StoreError.Code {
        if isCorruption { return .corruption }
        if isDiskFull { return .diskFull }
        if isNotPermitted { return .notPermitted }
        if isLockHeld { return .held }
        return .inputOutput
    }

    /// The error as the store's callers see it.
    func storeError(_ fields: [String: String] = [:]) -> StoreError {
        switch storeCode {
        case .corruption:
            return StoreError(
                .corruption,
                "Bytes on disk are not what was written: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                fields,
                cause: text)
        case .diskFull:
            return StoreError(.diskFull, "There is no room left on the disk: make some.", fields, cause: text)
        case .notPermitted:
            return StoreError(
                .notPermitted, "The store's files may not be read or written: change their owner or mode.", fields,
                cause: text)
        case .held:
            return StoreError(.held, "The store is open already: close it there first.", fields, cause: text)
        default:
            return StoreError(.inputOutput, "The operating system failed a request.", fields, cause: text)
        }
    }
}

extension EnginePlace {
    /// The error with the directory called as it was given.
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

/// The end of a range as hexadecimal digits. One that is behind every key is no longer than it must be to say so.
func hexadecimal(bound: [UInt8]) -> String {
    bound.count > StoreLimits.maximumKeyByteCount && bound.allSatisfy { $0 == 0xFF } ? "ff" : hexadecimal(bound)
}

/// Bytes as hexadecimal digits.
func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
