// What the operating system says when it refuses.

/// A refused call on a file or directory.
struct FileError: Error, Hashable {
    let number: Int32

    static let notFound: Int32 = 2
    static let notPermitted: Int32 = 1
    static let accessDenied: Int32 = 13
    static let wouldBlock: Int32 = 11
    static let alreadyThere: Int32 = 17
    /// What a file system without hard links answers.
    static let lacksLinks: Set<Int32> = [1, 31, 38, 95]
    static let notADirectory: Int32 = 20
    static let brokenPipe: Int32 = 32
    static let tooManyLinks: Int32 = 40

    /// Whether the file is simply not there.
    var isAbsence: Bool { number == Self.notFound || number == Self.notADirectory }

    var reason: String {
        switch number {
        case Self.notPermitted: "not permitted"
        case Self.notFound: "no such file or directory"
        case 5: "the device failed"
        case Self.accessDenied: "permission denied"
        case Self.alreadyThere: "it exists already"
        case Self.notADirectory: "not a directory"
        case 21: "is a directory"
        case 24: "too many open files"
        case 28: "no space left on the disk"
        case 36: "the path is too long"
        case Self.tooManyLinks: "a symbolic link was not expected here"
        default: "error \(number) of the operating system"
        }
    }
}
