// The child processes of tests, and the fuzzer. Not a product.
//
//   stratus-test-program hold DIRECTORY      opens the store, prints "open", and waits until its input ends
//   stratus-test-program roam DIRECTORY      opens the store by a relative path, works elsewhere, saves, prints "saved"
//   stratus-test-program write DIRECTORY     creates a store and commits to it until it is killed: the number of the
//                                            commit under [0] and under [1, number modulo 300]; prints each number
//                                            after its commit
//   stratus-test-program server URL          is the host of a store on PostgreSQL and adds one to the number under [1]
//                                            until it is killed or cannot: prints each number after its commit, and
//                                            the error's code
//   stratus-test-program cloud URL           is a host there by the public API and saves records until it is killed or
//                                            cannot: prints the number of each after its save, and the error's code
//   stratus-test-program work URL KIND       is a host there that does one kind of background work: prints "working"
//                                            after the first commit of it and waits until its input ends; then goes
//                                            on, and prints "lost" if another host has taken the work over meanwhile,
//                                            otherwise "done"
//   stratus-test-program private FOLDER      creates a private directory there, prints "made", and waits until its
//                                            input ends
//   stratus-test-program nobody DIRECTORY    gives up root, opens the store without creating it, prints the result
//   stratus-test-program serve DIRECTORY     is a host with one account, "local", that serves its store's socket;
//                                            prints "open", and closes the store when its input ends
//   stratus-test-program ask DIRECTORY       gives up root, sends a request to the store's host, prints the result
//   stratus-test-program memory FILE         creates a store in memory, saves the file in it as an asset, prints
//                                            "open", and closes the store when its input ends
//   stratus-test-program clock DIRECTORY     is a host whose upkeep removes fetched copies of assets soon; prints
//                                            "upkeep" when one is removed, or "no upkeep" if that takes too long
//   stratus-test-program backup DIRECTORY    gives up root, creates a store in a folder there and a copy of it whose
//                                            name cannot be made durable, prints the result and the folder's content
//   stratus-test-program draw DIRECTORY      creates a store, then draws identities without a free descriptor, prints
//                                            each
//   stratus-test-program archive NAME        archives objects with the name in Apple's format, prints each archive in
//                                            base 64
//   stratus-test-program costs DIRECTORY [reads|entries|allocations]
//                                            runs every workload once, small and always the same, and prints the cost
//                                            of each pass as JSON; the last argument plants a cost in every pass
//   stratus-test-program crash DIRECTORY SEED sync|nosync
//                                            writes commits until it is killed, and prints which ones were
//                                            acknowledged
//   stratus-test-program journey save|feed|query
//                                            prints the functions that one request runs, in a build with counters
//   stratus-test-program fuzz TARGET …       feeds damaged bytes to a decoder; see fuzz --help

import ArgumentParser
import Foundation
import Glibc
import StratusKit
import StratusLevelDB
import StratusRecords
import StratusStore

func say(_ line: String) {
    print(line)
    fflush(nil)
}

func open(_ path: String) -> LevelDBStore? {
    var options = LevelDBOptions()
    options.createIfMissing = false
    do {
        return try LevelDBStore.open(at: path, options: options)
    } catch {
        say("\(error)")
        return nil
    }
}

/// Little memory, so that tables are written and compacted all the time.
func write(to path: String) {
    var options = LevelDBOptions()
    options.writeBufferByteCount = 64 << 10
    options.fileByteCount = 64 << 10
    options.syncsCommits = false
    do {
        let store = try LevelDBStore.open(at: path, options: options)
        var number = 0
        while true {
            number += 1
            let value = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
            let slot = number % 300
            try store.transact { transaction in
                try transaction.set([0], to: value)
                let padding = [UInt8](repeating: 7, count: 600)
                try transaction.set([1, UInt8(slot >> 8), UInt8(slot & 0xFF)], to: value + padding)
            }
            say("\(number)")
        }
    } catch {
        say("failed: \(error)")
    }
}

func giveUpRoot() {
    guard setgid(65_534) == 0, setuid(65_534) == 0 else {
        say("cannot give up root")
        exit(77)
    }
}

func serve(_ path: String) throws {
    var options = Stratus.Options()
    options.logger = nil
    options.servesTool = true
    let host = try Stratus.open(at: URL(fileURLWithPath: path), options: options)
    _ = try host.account(externalID: "local", createIfMissing: .init())
    say("open")
    while readLine() != nil {}
    host.close()
}

func ask(_ path: String) throws {
    guard let served = try ServedStore(directory: path) else { return say("nobody serves") }
    _ = try served.engine.read { try $0.zones(limit: 1) }
    say("answered")
}

func keepInMemory(_ file: String) async throws {
    var options = Stratus.Options()
    options.logger = nil
    let store = try await Stratus.inMemory(options: options)
    let account = try await store.account(externalID: "local", createIfMissing: .init())
    let record = CKRecord(recordType: "Note")
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: file))
    try await store.container("iCloud.test", signedInAs: account).privateCloudDatabase.save(record)
    say("open")
    while readLine() != nil {}
    await store.close()
}

/// Saves a file as an asset, fetches it, and releases the fetched copy. Returns the path of the fetched copy.
func releaseCopy(of file: String, in database: CKDatabase) async throws -> String {
    let record = CKRecord(recordType: "Note")
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: file))
    try await database.save(record)
    let fetched = try await database.record(for: record.recordID)
    return (fetched["file"] as? CKAsset)?.fileURL?.path ?? ""
}

func keepTime(in path: String) async throws {
    var options = Stratus.Options()
    options.logger = nil
    options.assetCopySeconds = 0.5
    options.upkeepIntervalSeconds = 0.3
    let store = try await Stratus.open(at: URL(fileURLWithPath: path), options: options)
    let account = try await store.account(externalID: "local", createIfMissing: .init())
    let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
    let copy = try await releaseCopy(of: CommandLine.arguments[0], in: database)
    let clock = ContinuousClock()
    let end = clock.now + .seconds(20)
    while FileManager.default.fileExists(atPath: copy), clock.now < end {
        try await Task.sleep(for: .milliseconds(50))
    }
    say(copy.isEmpty || FileManager.default.fileExists(atPath: copy) ? "no upkeep" : "upkeep")
    await store.close()
}

/// A folder that can be searched and changed but not opened prevents names in it from becoming durable, except for
/// root.
func failBackup(in path: String) throws {
    let folder = path + "/folder"
    let files = FileManager.default
    try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
    func setMode(_ mode: Int) throws { try files.setAttributes([.posixPermissions: mode], ofItemAtPath: folder) }
    let store = try LevelDBStore.open(at: folder + "/store")
    try store.transact { try $0.set([1], to: [1]) }
    store.close()
    do {
        _ = try LevelDBStore.backup(
            ofStoreAt: folder + "/store", to: folder + "/copy", prepare: { _ in try setMode(0o300) })
        say("copied")
    } catch let error as StoreError { say("\(error.code)") }
    try setMode(0o700)
    say(try files.contentsOfDirectory(atPath: folder).sorted().joined(separator: " "))
}

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "costs"?: countCosts(Array(arguments.dropFirst(2)))
case "crash"?: commitUntilKilled(Array(arguments.dropFirst(2)))
case "journey"?: await Journey.run(Array(arguments.dropFirst(2)))
case "work"?:
    workOnServer(Array(arguments.dropFirst(2)))
    exit(0)
case "fuzz"?:
    FuzzCommand.main(Array(arguments.dropFirst(2)))
    exit(0)
default: break
}
guard arguments.count == 3 else {
    say(
        "usage: stratus-test-program "
            + "hold|roam|write|server|cloud|private|nobody|serve|ask|memory|clock|backup|draw|archive PATH")
    exit(64)
}
switch arguments[1] {
case "hold":
    guard let store = open(arguments[2]) else { exit(1) }
    say("open")
    while readLine() != nil {}
    store.close()
case "roam":
    let url = URL(fileURLWithPath: arguments[2])
    do {
        guard FileManager.default.changeCurrentDirectoryPath(url.deletingLastPathComponent().path) else { exit(1) }
        let store = try LevelDBStore.open(at: url.lastPathComponent)
        guard FileManager.default.changeCurrentDirectoryPath("/") else { exit(1) }
        try store.transact { try $0.set([1], to: [1]) }
        store.close()
        say("saved")
    } catch { say("\(error)") }
case "write":
    write(to: arguments[2])
    exit(1)
case "server":
    countOnServer(arguments[2])
    exit(1)
case "cloud":
    await saveOnServer(arguments[2])
    exit(1)
case "private":
    guard let directory = try? PrivateDirectory.make(in: arguments[2], prefix: "work-") else { exit(1) }
    say("made")
    while readLine() != nil {}
    directory.remove()
case "nobody":
    giveUpRoot()
    guard let store = open(arguments[2]) else { exit(1) }
    store.close()
    say("open")
case "serve":
    do { try serve(arguments[2]) } catch {
        say("\(error)")
        exit(1)
    }
case "ask":
    giveUpRoot()
    do { try ask(arguments[2]) } catch { say("\(error)") }
case "memory":
    do { try await keepInMemory(arguments[2]) } catch {
        say("\(error)")
        exit(1)
    }
case "clock":
    do { try await keepTime(in: arguments[2]) } catch {
        say("\(error)")
        exit(1)
    }
case "backup":
    giveUpRoot()
    do { try failBackup(in: arguments[2]) } catch { say("\(error)") }
case "draw":
    do { try drawIdentities(arguments[2]) } catch {
        say("\(error)")
        exit(1)
    }
case "archive":
    do { for archive in try archives(of: arguments[2]) { say(archive.base64EncodedString()) } } catch {
        say("\(error)")
        exit(1)
    }
default:
    exit(64)
}
