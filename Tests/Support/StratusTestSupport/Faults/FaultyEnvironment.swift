// Faults below LevelDB, in Swift: the environment of `CLevelDBFaults` with an owner.
//
// Unsafe: the pointer is made in `init`, owned by this object alone and destroyed once, in `deinit`. A store keeps its
// options, and with them this object, until it is gone. The C functions lock for themselves.

internal import CLevelDBFaults
internal import StratusLevelDB
internal import Synchronization

/// An environment that cannot be created.
package struct FaultyEnvironmentError: Error, CustomStringConvertible {
    package let description: String
}

/// A request to the operating system that can fail.
package enum EngineFaultPoint: UInt32, CaseIterable, Sendable {
    // The numbers are those of stratus_fault_point.
    case append = 0
    case flush = 1
    case sync = 2
    case close = 3
    case rename = 4
    case remove = 5
    /// A file to write, a new one or one to append to.
    case openWritable = 6
    case openSequential = 7
    case openRandom = 8
    case readSequential = 9
    case readRandom = 10
    case list = 11
    case lock = 12
}

/// The effect of a failing request.
package enum EngineFaultEffect: UInt32, Sendable {
    // The numbers are those of stratus_fault_effect.
    case refused = 0
    /// An append has written the first half; a read has lost its second half and reports no error.
    case shortened = 1
    /// Everything was done, but the answer is an error.
    case done = 2
    /// A sync has lost what was appended since the one before.
    case lost = 3
}

/// Requests that fail.
package struct EngineFault: Sendable, CustomStringConvertible {
    package var point: EngineFaultPoint
    package var effect: EngineFaultEffect
    /// Which request of that kind fails first, from 1.
    package var occurrence: Int
    /// How many fail, one after another.
    package var repetitions: Int

    package init(
        _ point: EngineFaultPoint, _ effect: EngineFaultEffect = .refused, at occurrence: Int, repetitions: Int = 1
    ) {
        self.point = point
        self.effect = effect
        self.occurrence = occurrence
        self.repetitions = repetitions
    }

    package var description: String {
        "\(point) \(occurrence) \(effect)" + (repetitions == 1 ? "" : " and on")
    }
}

/// What C calls back.
private final class SyncObserver: Sendable {
    let body: @Sendable (String) -> Void

    init(_ body: @escaping @Sendable (String) -> Void) { self.body = body }
}

/// The files, threads and clock under a store, failing as planned. Syncs do not wait for the disk.
@safe package final class FaultyEnvironment: LevelDBEnvironmentSupplier, @unchecked Sendable {
    // because the C functions lock for themselves
    private let pointer: OpaquePointer
    private let observer = Mutex<SyncObserver?>(nil)

    /// Whether the faults are made for this version of LevelDB.
    package static func supports(majorVersion: Int, minorVersion: Int) -> Bool {
        stratus_fault_environment_supports(Int32(clamping: majorVersion), Int32(clamping: minorVersion))
    }

    /// Throws `FaultyEnvironmentError` if the library is a version of LevelDB other than the faults support.
    package init() throws {
        var text: UnsafePointer<CChar>?
        guard let pointer = unsafe stratus_fault_environment_create(&text) else {
            let reason = unsafe text.map { unsafe String(cString: $0) }
            throw FaultyEnvironmentError(description: reason ?? "The environment could not be made.")
        }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe stratus_fault_environment_destroy(pointer)
    }

    /// Called with the path of each file that was synced, on the thread that has synced it. It is retained as long as
    /// the environment, and set once, before a store is opened.
    package func observeSyncs(_ observer: @escaping @Sendable (_ path: String) -> Void) {
        let box = SyncObserver(observer)
        self.observer.withLock { $0 = box }
        unsafe stratus_fault_environment_observe_syncs(
            pointer,
            { context, path in
                guard let context = unsafe context, let path = unsafe path else { return }
                unsafe Unmanaged<SyncObserver>.fromOpaque(context).takeUnretainedValue().body(String(cString: path))
            }, Unmanaged.passUnretained(box).toOpaque())
    }

    package func environment() -> OpaquePointer {
        unsafe stratus_fault_environment_pointer(pointer)
    }

    /// Arms a fault in place of the previous one at its point; its occurrence counts from now on.
    package func arm(_ fault: EngineFault) {
        unsafe stratus_fault_environment_arm(
            pointer, stratus_fault_point(rawValue: fault.point.rawValue),
            stratus_fault_effect(rawValue: fault.effect.rawValue), UInt64(fault.occurrence), UInt64(fault.repetitions))
    }

    /// Leaves room for a number of bytes; then appends are shortened to what fits, and fail.
    package func limitDisk(byteCount: Int) {
        unsafe stratus_fault_environment_limit_disk(pointer, UInt64(byteCount))
    }

    package func slowSyncs(microseconds: Int) {
        unsafe stratus_fault_environment_slow_syncs(pointer, UInt64(microseconds))
    }

    /// No failures, no delays, and the disk has room again.
    package func disarm() {
        unsafe stratus_fault_environment_disarm(pointer)
    }

    /// Requests of a kind so far, failed ones included.
    package func count(of point: EngineFaultPoint) -> Int {
        Int(unsafe stratus_fault_environment_count(pointer, stratus_fault_point(rawValue: point.rawValue)))
    }

    /// Requests that failed so far.
    package var faultCount: Int { Int(unsafe stratus_fault_environment_fault_count(pointer)) }

    package var appendedByteCount: Int { Int(unsafe stratus_fault_environment_appended_byte_count(pointer)) }

    /// Returns when LevelDB has no background work.
    package func waitUntilIdle() {
        unsafe stratus_fault_environment_wait_until_idle(pointer)
    }
}
