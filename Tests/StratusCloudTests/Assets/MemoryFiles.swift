// A file system in memory that fails at any call, and that loses in a crash everything that was not synced: contents
// without their own sync, names without their directory's.

@testable import StratusCloud
import StratusStore

/// Files that remember what a disk would remember.
final class MemoryFiles: AssetFiles {
    /// What a disk may only pretend to have done: planted to show that a crash test detects it.
    enum Lie: CaseIterable {
        case syncsOfFiles, syncsOfDirectories
    }

    /// What a crash leaves.
    enum Crash: CaseIterable {
        /// Nothing that was not synced.
        case losesEverythingUnsynced
        /// All names, in their last state, but no unsynced content: this gives empty files.
        case losesContents
    }

    fileprivate enum Node {
        case file(content: [UInt8], synced: [UInt8])
        case directory(names: [String: Int], synced: [String: Int])
    }

    fileprivate struct Handle {
        var node: Int
        var position = 0
    }

    fileprivate struct State {
        var nodes: [Int: Node] = [0: .directory(names: [:], synced: [:])]
        var changes: [Int: Int64] = [:]
        var handles: [Int32: Handle] = [:]
        var nextNumber = 1
        var callCount = 0
        var lies: Set<Lie> = []
        var failure: (call: Int, number: Int32, repeats: Bool)?
    }

    private let state = Locked(State())

    init(lies: Set<Lie> = []) { state.withLock { $0.lies = lies } }

    /// Calls so far that may fail.
    var callCount: Int { state.withLock { $0.callCount } }

    var openCount: Int { state.withLock { $0.handles.count } }

    /// Lets the call with this number, counted from now, fail; and all after it when `repeats` is set.
    func fail(at call: Int, number: Int32 = FileFailure.inputOutput, repeats: Bool = false) {
        state.withLock { $0.failure = ($0.callCount + call, number, repeats) }
    }

    func clearFailure() { state.withLock { $0.failure = nil } }

    /// The contents of the disk after the machine is switched on again.
    func crash(_ crash: Crash) {
        state.withLock { state in
            state.handles = [:]
            state.failure = nil
            state.nodes = state.nodes.mapValues { node in
                switch node {
                case .file(_, let synced): .file(content: synced, synced: synced)
                case .directory(let names, let synced):
                    switch crash {
                    case .losesEverythingUnsynced: .directory(names: synced, synced: synced)
                    case .losesContents: .directory(names: names, synced: names)
                    }
                }
            }
        }
    }

    /// Puts a durable file somewhere, with all directories.
    func put(_ content: [UInt8], at path: String) {
        state.withLock { state in
            var node = 0
            let parts = path.split(separator: "/").map(String.init)
            for part in parts.dropLast() {
                guard case .directory(var names, var synced) = state.nodes[node] else { return }
                let next = names[part] ?? state.make(.directory(names: [:], synced: [:]))
                names[part] = next
                synced[part] = next
                state.nodes[node] = .directory(names: names, synced: synced)
                node = next
            }
            guard case .directory(var names, var synced) = state.nodes[node], let name = parts.last else { return }
            let file = state.make(.file(content: content, synced: content))
            names[name] = file
            synced[name] = file
            state.nodes[node] = .directory(names: names, synced: synced)
        }
    }

    func content(at path: String) -> [UInt8]? {
        state.withLock { state in
            guard let node = try? state.find(path), case .file(let content, _) = state.nodes[node] else { return nil }
            return content
        }
    }

    private func call<Result: Sendable>(_ body: (inout State) throws(FileFailure) -> Result) throws(FileFailure)
        -> Result
    {
        let result: Swift.Result<Result, FileFailure> = state.withLock { state in
            state.callCount += 1
            if let failure = state.failure {
                let isHit = failure.repeats ? state.callCount >= failure.call : state.callCount == failure.call
                if isHit { return .failure(FileFailure(number: failure.number)) }
            }
            do throws(FileFailure) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    func openFile(_ path: String) throws(FileFailure) -> Int32 {
        try call { state throws(FileFailure) in
            let node = try state.find(path)
            return state.open(node)
        }
    }

    func createFile(_ path: String) throws(FileFailure) -> Int32 {
        try call { state throws(FileFailure) in
            let file = state.make(.file(content: [], synced: []))
            try state.changeNames(of: path) { names, name throws(FileFailure) in
                guard names[name] == nil else { throw FileFailure(number: FileFailure.exists) }
                names[name] = file
            }
            return state.open(file)
        }
    }

    func facts(_ descriptor: Int32) throws(FileFailure) -> AssetFileFacts {
        try call { state throws(FileFailure) in
            let node = try state.handle(descriptor).node
            guard case .file(let content, _) = state.nodes[node] else {
                return AssetFileFacts(isRegular: false, byteCount: 0)
            }
            let change = state.changes[node] ?? 0
            return AssetFileFacts(
                isRegular: true, byteCount: Int64(content.count), modifiedNanoseconds: change,
                changedNanoseconds: change)
        }
    }

    func read(_ descriptor: Int32, into buffer: inout [UInt8]) throws(FileFailure) -> Int {
        let limit = buffer.count
        let piece = try call { state throws(FileFailure) in
            let handle = try state.handle(descriptor)
            guard case .file(let content, _) = state.nodes[handle.node] else { throw FileFailure(number: 21) }
            let piece = Array(content.dropFirst(handle.position).prefix(limit))
            state.handles[descriptor]?.position += piece.count
            return piece
        }
        buffer.replaceSubrange(0..<piece.count, with: piece)
        return piece.count
    }

    func write(_ descriptor: Int32, _ buffer: [UInt8], count: Int) throws(FileFailure) {
        try call { state throws(FileFailure) in
            let handle = try state.handle(descriptor)
            guard case .file(let content, let synced) = state.nodes[handle.node] else { throw FileFailure(number: 9) }
            state.nodes[handle.node] = .file(content: content + buffer.prefix(count), synced: synced)
            state.changes[handle.node, default: 0] += 1
        }
    }

    func beginSync(_ descriptor: Int32) {}

    func sync(_ descriptor: Int32) throws(FileFailure) {
        try call { state throws(FileFailure) in
            let node = try state.handle(descriptor).node
            guard case .file(let content, _) = state.nodes[node] else { throw FileFailure(number: 9) }
            guard !state.lies.contains(.syncsOfFiles) else { return }
            state.nodes[node] = .file(content: content, synced: content)
        }
    }

    func close(_ descriptor: Int32) { state.withLock { $0.handles[descriptor] = nil } }

    func rename(_ path: String, to newPath: String) throws(FileFailure) {
        try call { state throws(FileFailure) in
            let node = try state.find(path)
            try state.changeNames(of: newPath) { names, name throws(FileFailure) in names[name] = node }
            try state.changeNames(of: path) { names, name throws(FileFailure) in names[name] = nil }
        }
    }

    func removeFile(_ path: String) throws(FileFailure) {
        try call { state throws(FileFailure) in
            _ = try state.find(path)
            try state.changeNames(of: path) { names, name throws(FileFailure) in names[name] = nil }
        }
    }

    func createDirectory(_ path: String) throws(FileFailure) {
        try call { state throws(FileFailure) in
            let directory = state.make(.directory(names: [:], synced: [:]))
            try state.changeNames(of: path) { names, name throws(FileFailure) in
                guard names[name] == nil else { throw FileFailure(number: FileFailure.exists) }
                names[name] = directory
            }
        }
    }

    func removeDirectory(_ path: String) throws(FileFailure) {
        try call { state throws(FileFailure) in
            let node = try state.find(path)
            guard case .directory(let names, _) = state.nodes[node], names.isEmpty else {
                throw FileFailure(number: 39)
            }
            try state.changeNames(of: path) { names, name throws(FileFailure) in names[name] = nil }
        }
    }

    func syncDirectory(_ path: String) throws(FileFailure) {
        try call { state throws(FileFailure) in
            let node = try state.find(path)
            guard case .directory(let names, _) = state.nodes[node] else { throw FileFailure(number: 20) }
            guard !state.lies.contains(.syncsOfDirectories) else { return }
            state.nodes[node] = .directory(names: names, synced: names)
        }
    }

    func names(in path: String) throws(FileFailure) -> [String] {
        try call { state throws(FileFailure) in
            let node = try state.find(path)
            guard case .directory(let names, _) = state.nodes[node] else {
                throw FileFailure(number: FileFailure.notADirectory)
            }
            return names.keys.sorted()
        }
    }
}

extension MemoryFiles.State {
    fileprivate mutating func make(_ node: MemoryFiles.Node) -> Int {
        defer { nextNumber += 1 }
        nodes[nextNumber] = node
        return nextNumber
    }

    fileprivate mutating func open(_ node: Int) -> Int32 {
        defer { nextNumber += 1 }
        handles[Int32(nextNumber)] = MemoryFiles.Handle(node: node)
        return Int32(nextNumber)
    }

    fileprivate func handle(_ descriptor: Int32) throws(FileFailure) -> MemoryFiles.Handle {
        guard let handle = handles[descriptor] else { throw FileFailure(number: 9) }
        return handle
    }

    fileprivate func find(_ path: String) throws(FileFailure) -> Int {
        var node = 0
        for part in path.split(separator: "/") {
            guard case .directory(let names, _) = nodes[node], let next = names[String(part)] else {
                throw FileFailure(number: FileFailure.notFound)
            }
            node = next
        }
        return node
    }

    fileprivate mutating func changeNames(
        of path: String, _ change: (inout [String: Int], String) throws(FileFailure) -> Void
    ) throws(FileFailure) {
        let parts = path.split(separator: "/").map(String.init)
        let parent = try find(parts.dropLast().joined(separator: "/"))
        guard case .directory(var names, let synced) = nodes[parent], let name = parts.last else {
            throw FileFailure(number: FileFailure.notADirectory)
        }
        try change(&names, name)
        nodes[parent] = .directory(names: names, synced: synced)
    }
}
