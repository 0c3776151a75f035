// PostgreSQL's client library, loaded when the first address is opened. No header and no linker option names it: a
// program that never opens PostgreSQL runs without it, and everything compiles where it is missing.
//
// Unsafe: a symbol of the library is used as a C function of the type written here. These types are those of the
// header, libpq-fe.h, which has not changed them since version 14. The library is never unloaded.

internal import Glibc
internal import StratusStore
internal import Synchronization

typealias CString = UnsafePointer<CChar>
/// `PGconn *`, `PGresult *` or `PGcancel *`.
typealias Handle = OpaquePointer

/// The loaded library.
final class Libpq: Sendable {
    /// Pipelines came with libpq 14.
    static let oldestVersion: Int32 = 140_000
    /// A path to the library. If it is set, no other place is tried.
    static let pathVariable = "STRATUS_LIBPQ"
    static let names = ["libpq.so.5", "libpq.so"]
    private static let loaded = Mutex<Libpq?>(nil)

    let symbols: LibpqSymbols
    let version: Int32

    /// The library of this process, which the first call loads. A call after a failed one tries again.
    static func shared() throws -> Libpq {
        try loaded.withLock { loaded in
            if let library = loaded { return library }
            let path = unsafe getenv(pathVariable).map { unsafe String(cString: $0) }
            let library = try Libpq(loading: path.map { [$0] } ?? names)
            LoginGate.closeAtExit()
            loaded = library
            return library
        }
    }

    /// Loads the first of `names` that is there.
    ///
    /// Throws `.unavailable`, naming the package, if there is none or it is too old.
    convenience init(loading names: [String]) throws {
        let library = try SharedLibrary(names)
        Self.keepOpenSSL(of: library)
        try self.init(LibpqSymbols(library))
    }

    /// Has OpenSSL, which libpq uses, stay whole until the process is gone. By default `exit` frees it while threads
    /// may still be connecting, and they crash.
    private static func keepOpenSSL(of library: SharedLibrary) {
        typealias Initializer = @convention(c) (_ options: UInt64, _ settings: OpaquePointer?) -> Int32
        // A libpq without OpenSSL has no such function. `OPENSSL_INIT_NO_ATEXIT`:
        guard let initialize: Initializer = try? unsafe library.function("OPENSSL_init_crypto") else { return }
        _ = initialize(0x0008_0000, nil)
    }

    init(_ symbols: LibpqSymbols) throws {
        self.symbols = symbols
        version = symbols.libVersion()
        try Self.check(version: version)
    }

    static func check(version: Int32) throws {
        guard version >= oldestVersion else {
            throw tooOld(["version": "\(version / 10_000).\(version % 10_000)"], cause: nil)
        }
    }

    fileprivate static func tooOld(_ fields: [String: String], cause: String?) -> StoreError {
        StoreError(
            .unavailable, "PostgreSQL's client library is too old: install the package libpq5, version 14 or newer.",
            fields.merging(["package": "libpq5"]) { own, _ in own }, cause: cause)
    }
}

/// Keeps threads from logging in while the process ends. `exit` frees what the libraries below libpq have, Kerberos for
/// one, and a thread that is about to use it would crash. A process that closes its stores before needs none of this.
enum LoginGate {
    private static let insideCount = Atomic(0)
    private static let isClosed = Atomic(false)
    /// A child that was forked has counted the logins of its parent.
    private static let processID = Atomic<pid_t>(0)
    /// A login may wait for the name of a server.
    private static let longestWaitSeconds = 2.0

    /// Calls a function of libpq that logs in. Nil if the process is ending.
    static func pass<Result>(_ call: () -> Result) -> Result? {
        insideCount.add(1, ordering: .sequentiallyConsistent)
        defer { insideCount.subtract(1, ordering: .sequentiallyConsistent) }
        return isClosed.load(ordering: .sequentiallyConsistent) ? nil : call()
    }

    /// Closes the gate in `exit`, before what was registered earlier is freed, and waits up to two seconds for logins
    /// that run.
    static func closeAtExit() {
        processID.store(getpid(), ordering: .sequentiallyConsistent)
        _ = atexit { LoginGate.close() }
    }

    private static func close() {
        guard processID.load(ordering: .sequentiallyConsistent) == getpid() else { return }
        isClosed.store(true, ordering: .sequentiallyConsistent)
        let end = MonotonicTime.now + longestWaitSeconds
        while insideCount.load(ordering: .sequentiallyConsistent) > 0, end > .now {
            MonotonicTime.pause(seconds: 0.0005)
        }
    }
}

/// A library that is open until the process ends.
@safe struct SharedLibrary {
    private let handle: UnsafeMutableRawPointer

    init(_ names: [String]) throws {
        var reason: String?
        for name in names {
            if let handle = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) {
                unsafe self.handle = handle
                return
            }
            // The first name's reason is that of the library that most machines have.
            let text = unsafe dlerror().map { unsafe String(cString: $0) }
            reason = reason ?? text
        }
        throw StoreError(
            .unavailable, "PostgreSQL's client library is not installed: install the package libpq5.",
            ["package": "libpq5", "library": names.first ?? ""], cause: reason)
    }

    /// The function with this name, as a C function of the type that the caller wants.
    ///
    /// Throws `.unavailable` if the library does not have it.
    func function<Function>(_ name: String) throws -> Function {
        guard let address = unsafe dlsym(handle, name) else {
            throw Libpq.tooOld(["function": name], cause: unsafe dlerror().map { unsafe String(cString: $0) })
        }
        return unsafe withUnsafeBytes(of: address) { unsafe $0.load(as: Function.self) }
    }
}

/// The functions of libpq that Stratus calls, named as there, without `PQ`. Tests replace some.
@safe struct LibpqSymbols: Sendable {
    typealias Texts = UnsafePointer<CString?>
    typealias Numbers = UnsafePointer<Int32>
    typealias NoticeReceiver = @convention(c) (UnsafeMutableRawPointer?, Handle?) -> Void

    var libVersion: @convention(c) () -> Int32
    var freeMemory: @convention(c) (UnsafeMutableRawPointer?) -> Void
    // Addresses.
    var conninfoParse:
        @convention(c) (CString?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> UnsafeMutableRawPointer?
    var conninfoFree: @convention(c) (UnsafeMutableRawPointer?) -> Void
    // Connections.
    var connectStartParams: @convention(c) (Texts?, Texts?, Int32) -> Handle?
    var connectPoll: @convention(c) (Handle?) -> UInt32
    var status: @convention(c) (Handle?) -> UInt32
    var transactionStatus: @convention(c) (Handle?) -> UInt32
    var errorMessage: @convention(c) (Handle?) -> CString?
    var socket: @convention(c) (Handle?) -> Int32
    var backendPID: @convention(c) (Handle?) -> Int32
    var finish: @convention(c) (Handle?) -> Void
    var setNonBlocking: @convention(c) (Handle?, Int32) -> Int32
    var setErrorVerbosity: @convention(c) (Handle?, UInt32) -> UInt32
    var setNoticeReceiver: @convention(c) (Handle?, NoticeReceiver?, UnsafeMutableRawPointer?) -> NoticeReceiver?
    var getCancel: @convention(c) (Handle?) -> Handle?
    var cancel: @convention(c) (Handle?, UnsafeMutablePointer<CChar>?, Int32) -> Int32
    var freeCancel: @convention(c) (Handle?) -> Void
    // Pipelines.
    var enterPipelineMode: @convention(c) (Handle?) -> Int32
    var pipelineSync: @convention(c) (Handle?) -> Int32
    var flush: @convention(c) (Handle?) -> Int32
    var consumeInput: @convention(c) (Handle?) -> Int32
    var isBusy: @convention(c) (Handle?) -> Int32
    var getResult: @convention(c) (Handle?) -> Handle?
    /// A `PGnotify`, which the caller frees.
    var notifies: @convention(c) (Handle?) -> UnsafeMutableRawPointer?
    /// Connection, name, SQL, number of parameters, their types.
    var sendPrepare: @convention(c) (Handle?, CString, CString, Int32, UnsafePointer<UInt32>?) -> Int32
    /// Connection, name, number of parameters, values, lengths, formats, format of the result.
    var sendQueryPrepared: @convention(c) (Handle?, CString, Int32, Texts?, Numbers?, Numbers?, Int32) -> Int32
    /// The same with SQL, and types before the values.
    var sendQueryParams:
        @convention(c) (Handle?, CString, Int32, UnsafePointer<UInt32>?, Texts?, Numbers?, Numbers?, Int32) -> Int32
    // Results.
    var resultStatus: @convention(c) (Handle?) -> UInt32
    var resultErrorField: @convention(c) (Handle?, Int32) -> CString?
    var commandTag: @convention(c) (Handle?) -> CString?
    var rowCount: @convention(c) (Handle?) -> Int32
    var columnCount: @convention(c) (Handle?) -> Int32
    var value: @convention(c) (Handle?, Int32, Int32) -> CString?
    var length: @convention(c) (Handle?, Int32, Int32) -> Int32
    var isNull: @convention(c) (Handle?, Int32, Int32) -> Int32
    var clear: @convention(c) (Handle?) -> Void

    init(_ library: SharedLibrary) throws {
        libVersion = try library.function("PQlibVersion")
        unsafe freeMemory = try library.function("PQfreemem")
        unsafe conninfoParse = try library.function("PQconninfoParse")
        unsafe conninfoFree = try library.function("PQconninfoFree")
        unsafe connectStartParams = try library.function("PQconnectStartParams")
        unsafe connectPoll = try library.function("PQconnectPoll")
        unsafe status = try library.function("PQstatus")
        unsafe transactionStatus = try library.function("PQtransactionStatus")
        unsafe errorMessage = try library.function("PQerrorMessage")
        unsafe socket = try library.function("PQsocket")
        unsafe backendPID = try library.function("PQbackendPID")
        unsafe finish = try library.function("PQfinish")
        unsafe setNonBlocking = try library.function("PQsetnonblocking")
        unsafe setErrorVerbosity = try library.function("PQsetErrorVerbosity")
        unsafe setNoticeReceiver = try library.function("PQsetNoticeReceiver")
        unsafe getCancel = try library.function("PQgetCancel")
        unsafe cancel = try library.function("PQcancel")
        unsafe freeCancel = try library.function("PQfreeCancel")
        unsafe enterPipelineMode = try library.function("PQenterPipelineMode")
        unsafe pipelineSync = try library.function("PQpipelineSync")
        unsafe flush = try library.function("PQflush")
        unsafe consumeInput = try library.function("PQconsumeInput")
        unsafe isBusy = try library.function("PQisBusy")
        unsafe getResult = try library.function("PQgetResult")
        unsafe notifies = try library.function("PQnotifies")
        unsafe sendPrepare = try library.function("PQsendPrepare")
        unsafe sendQueryPrepared = try library.function("PQsendQueryPrepared")
        unsafe sendQueryParams = try library.function("PQsendQueryParams")
        unsafe resultStatus = try library.function("PQresultStatus")
        unsafe resultErrorField = try library.function("PQresultErrorField")
        unsafe commandTag = try library.function("PQcmdStatus")
        unsafe rowCount = try library.function("PQntuples")
        unsafe columnCount = try library.function("PQnfields")
        unsafe value = try library.function("PQgetvalue")
        unsafe length = try library.function("PQgetlength")
        unsafe isNull = try library.function("PQgetisnull")
        unsafe clear = try library.function("PQclear")
    }
}
