// The leases of the hosts of a store: who shares it, who gets it alone, when a dead host's lease ends, and what an
// overtaken host can still do.

import FoundationEssentials
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite struct LeaseViewTests {
    private static let first = LeaseLook(generation: 3, holder: [1], beat: 10)

    @Test("a lease that was given back is free at once")
    func free() {
        var view = LeaseView()
        #expect(view.note(LeaseLook(generation: 3), began: 0, ended: 0.1) == .free)
    }

    @Test("a lease ends after ten equal looks over five seconds, and not before")
    func expired() {
        var view = LeaseView()
        for turn in 0..<10 {
            #expect(view.note(Self.first, began: Double(turn) * 0.5, ended: Double(turn) * 0.5) == .held)
        }
        #expect(view.note(Self.first, began: 5, ended: 5) == .expired)
        // Slower looks take longer than five seconds, and there must be ten all the same.
        var slow = LeaseView()
        for turn in 0..<9 {
            #expect(slow.note(Self.first, began: Double(turn) * 0.7, ended: Double(turn) * 0.7) == .held)
        }
        #expect(slow.note(Self.first, began: 6.3, ended: 6.3) == .expired)
    }

    @Test("many looks in a short time are not enough")
    func short() {
        var view = LeaseView()
        for turn in 0..<100 {
            #expect(view.note(Self.first, began: Double(turn) * 0.04, ended: Double(turn) * 0.04) == .held)
        }
    }

    @Test("a beat, and another holder, begin the count again")
    func alive() {
        var view = LeaseView()
        for turn in 0..<200 {
            var look = Self.first
            look.beat = Int64(turn / 8)
            if turn > 100 { look.generation = 4 }
            #expect(view.note(look, began: Double(turn) * 0.5, ended: Double(turn) * 0.5) == .held)
        }
    }

    @Test("a look that failed or was slow begins the count again: the server was away, and not the host")
    func serverAway() {
        for isFailure in [true, false] {
            var view = LeaseView()
            for turn in 0..<9 { _ = view.note(Self.first, began: Double(turn), ended: Double(turn)) }
            if isFailure {
                view.noteFailure()
            } else {
                #expect(view.note(Self.first, began: 9, ended: 10.5) == .held)
            }
            for turn in 11..<20 {
                #expect(view.note(Self.first, began: Double(turn), ended: Double(turn)) == .held)
            }
            #expect(view.note(Self.first, began: 20, ended: 20) == .expired)
        }
    }

    @Test("a host is sure of its lease for four seconds after the beginning of its last beat")
    func health() {
        var health = LeaseHealth(generation: 3, holder: [1], isShared: false, takenAt: 100)
        #expect(health.state(at: 103.9) == .held)
        #expect(health.state(at: 104) == .unsure)
        health.note(Self.first, beatBegan: 102)
        #expect(health.state(at: 105.9) == .held)
        #expect(health.state(at: 106.1) == .unsure)
        health.note(Self.first, beatBegan: 110)
        #expect(health.state(at: 112) == .held)
    }

    @Test("a host that was overtaken never holds the lease again, and knows by whom it was")
    func overtaken() {
        var health = LeaseHealth(generation: 3, holder: [1], isShared: false, takenAt: 100)
        health.noteLoss(to: LeaseLook(generation: 4))
        var successor = LeaseLook(generation: 4, holder: [2])
        successor.name = "other"
        health.note(successor, beatBegan: 101)
        #expect(health.state(at: 101) == .lost(successor))
        health.noteLoss(to: LeaseLook(generation: 4))
        health.note(Self.first, beatBegan: 102)
        #expect(health.state(at: 102) == .lost(successor))
    }

    @Test("another holder of the same generation is a loss, too")
    func otherHolder() {
        var health = LeaseHealth(generation: 3, holder: [2], isShared: false, takenAt: 100)
        health.note(Self.first, beatBegan: 101)
        #expect(health.state(at: 101) == .lost(Self.first))
    }

    @Test("a lease that hosts share is not lost to a host that lets others join again, and lost to another holder")
    func sharedHealth() {
        var health = LeaseHealth(generation: 3, holder: [2], isShared: true, takenAt: 100)
        health.note(LeaseLook(generation: 3), beatBegan: 102)
        health.note(LeaseLook(generation: 3, holder: [2]), beatBegan: 104)
        #expect(health.state(at: 107) == .held)
        health.note(Self.first, beatBegan: 105)
        #expect(health.state(at: 105) == .lost(Self.first))
    }
}

@Suite(.enabled(if: PostgresTestStore.isServerThere)) struct HostLeaseTests {
    @Test(
        "a host that needs the store for itself is refused with the name of another, and gets it when that has closed it"
    )
    func second() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open { $0.hostName = "first" }
            let error = #expect(throws: StoreError.self) { try place.openAlone(waiting: 0) }
            #expect(error?.code == .held)
            #expect(error?.fields["holderName"] == "first")
            #expect(error?.fields["holderProcessID"].map { Int($0) ?? 0 } != 0)
            first.close()
            let second = try place.openAlone(waiting: 0)
            defer { second.close() }
            try second.transact { try $0.set([1], to: [2]) }
        }
    }

    @Test(
        "a host that does not know whether it got the lease takes it again, without waiting for itself",
        arguments: [StoreUse.alone, .hosting])
    func ownLease(_ use: StoreUse) async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            let info = try ConnectionInfo(parsing: place.url)
            let options = place.options { options in
                options.random = { 7 }
                options.use = .alone
                options.leaseWaitSeconds = 0
            }
            let lost = try HostLease.take(info, .shared(), options)
            var again = options
            again.use = use
            let lease = try HostLease.take(info, .shared(), again)
            defer { lease.giveBack() }
            #expect(lease.generation == lost.generation + 1)
            // One that shares the store no longer has it for itself.
            if use == .hosting { try place.open { $0.leaseWaitSeconds = 0 }.close() }
        }
    }

    @Test("a host that may not end the sessions of a former one says so, and is refused")
    func fenceOfOthers() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let dead = try place.open { $0.testHooks.holdsBeats = { true } }
            defer { dead.close() }
            try dead.transact { try $0.set([1], to: [1]) }
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret'")
            defer { try? place.run("DROP OWNED BY \(role); DROP ROLE \(role)", isScript: true) }
            _ = try PostgresStore.create(url: place.url, grantingTo: role)
            let url = try place.url(as: role, "secret")
            let began = MonotonicTime.now
            let error = #expect(throws: StoreError.self) {
                try PostgresStore.open(
                    url: url,
                    options: place.options { options in
                        options.use = .alone
                        options.leaseWaitSeconds = 25
                        options.testHooks.fenceSeconds = 8
                    })
            }
            #expect(error?.code == .held)
            #expect(error?.message.contains("pg_signal_backend") == true)
            #expect((began + 40).secondsLeft > 0)
        }
    }

    @Test("a host that needs the store for itself waits as long as it may")
    func waiting() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open()
            let isWaiting = Latch("the second host to open")
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    isWaiting.open()
                    try place.openAlone(waiting: 30).close()
                } else {
                    try isWaiting.wait()
                    try first.transact { try $0.set([1], to: [2]) }
                    first.close()
                }
            }
        }
    }

    @Test(
        "a living host keeps its lease while one that needs the store for itself waits longer than a dead one's lasts")
    func living() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open()
            defer { first.close() }
            let error = #expect(throws: StoreError.self) { try place.openAlone(waiting: 7) }
            #expect(error?.code == .held)
            try first.transact { try $0.set([1], to: [2]) }
        }
    }

    @Test("a host that stands still is overtaken within seconds, commits nothing afterwards, and stops")
    func overtaken() async throws {
        try await TestThreads.offPool {
            let isPaused = Locked(false)
            let events = Locked<[StoreError]>([])
            let place = try PostgresTestStore()
            let first = try place.open { options in
                options.testHooks.holdsBeats = { isPaused.value }
                options.onEvent = { event in events.withLock { $0.append(event) } }
            }
            defer { first.close() }
            try first.transact { try $0.set([1], to: [1]) }
            let began = MonotonicTime.now
            let taken = Locked<PostgresStore?>(nil)
            // The first host is within a transaction all the time: it has read, and will write.
            let error = #expect(throws: StoreError.self) {
                try first.transact { transaction in
                    let old = try transaction.value(forKey: [1])
                    isPaused.withLock { $0 = true }
                    if taken.value == nil {
                        let second = try place.openAlone(waiting: 14)
                        try second.transact { try $0.set([1], to: [5]) }
                        taken.withLock { $0 = second }
                    }
                    try transaction.set([1], to: (old ?? []) + [9])
                }
            }
            #expect((began + 15).secondsLeft > 0)
            #expect(error?.code == .held)
            let second = try #require(taken.value)
            defer { second.close() }
            #expect(try second.read { try $0.value(forKey: [1]) } == [5])
            // It does not start again by itself.
            isPaused.withLock { $0 = false }
            for _ in 0..<2 {
                let later = #expect(throws: StoreError.self) { try first.transact { try $0.set([2], to: [9]) } }
                #expect(later?.code == .held)
                let reading = #expect(throws: StoreError.self) { try first.read { try $0.value(forKey: [1]) } }
                #expect(reading?.code == .held)
            }
            #expect(events.value.contains { $0.code == .held })
            #expect(try second.read { try $0.value(forKey: [2]) } == nil)
        }
    }

    @Test("a host whose connections hang is overtaken, and the commit that it sent before finds that it is not there")
    func hanging() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let proxy = try WireProxy(place.url)
            defer { proxy.stop() }
            let (first, _) = try PostgresStore.open(url: proxy.url, options: place.options())
            defer { first.close() }
            try first.transact { try $0.set([1], to: [1]) }
            let isFrozen = Latch("the network to hang")
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    let error = #expect(throws: StoreError.self) {
                        try first.transact { transaction in
                            let old = try transaction.value(forKey: [1])
                            proxy.freeze()
                            isFrozen.open()
                            try transaction.set([1], to: (old ?? []) + [9])
                        }
                    }
                    #expect(error?.code == .held)
                } else {
                    try isFrozen.wait()
                    let second = try place.openAlone(waiting: 20)
                    defer { second.close() }
                    try second.transact { try $0.set([1], to: [5]) }
                    proxy.thaw()
                    #expect(try second.read { try $0.value(forKey: [1]) } == [5])
                }
            }
            #expect(try place.text("SELECT encode(v, 'hex') FROM stratus_entries") == "05")
        }
    }

    @Test("a server that ends all connections does not end the lease")
    func terminated() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let name = try place.schema
            let (store, _) = try PostgresStore.open(
                url: place.url + "&application_name=\(name)", options: place.options())
            defer { store.close() }
            try store.transact { try $0.set([1], to: [0]) }
            try place.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(name)'")
            for _ in 0..<3 { _ = try store.increment([1]) }
            #expect(try store.number([1]) == 3)
        }
    }

    @Test("two hosts that find a dead one's lease at once do not both get it")
    func race() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let dead = try place.open { $0.testHooks.holdsBeats = { true } }
            defer { dead.close() }
            let opened = Locked<[PostgresStore]>([])
            try TestThreads.run(3) { _ in
                do {
                    let store = try place.openAlone(waiting: 30)
                    try store.transact { try $0.set([1], to: [1]) }
                    opened.withLock { $0.append(store) }
                } catch let error as StoreError {
                    #expect(error.code == .held)
                }
            }
            #expect(opened.value.count == 1)
            for store in opened.value { store.close() }
        }
    }

    // MARK: Sharing

    @Test("hosts that share a store lose nothing of each other's, and see what the others have committed")
    func sharing() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let hosts = try (0..<3).map { _ in try place.open() }
            defer { for host in hosts { host.close() } }
            try hosts[0].transact { try $0.set([1], to: [0]) }
            try TestThreads.run(6) { thread in
                for _ in 0..<20 { _ = try hosts[thread % 3].increment([1]) }
            }
            for host in hosts { #expect(try host.number([1]) == 120) }
        }
    }

    @Test("while a host has the store for itself none can join, and the error names it")
    func joiningRefused() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let alone = try place.open { options in
                options.use = .alone
                options.hostName = "alone"
            }
            let error = #expect(throws: StoreError.self) { try place.open { $0.leaseWaitSeconds = 0 } }
            #expect(error?.code == .held)
            #expect(error?.fields["holderName"] == "alone")
            alone.close()
            try place.open { $0.leaseWaitSeconds = 0 }.close()
        }
    }

    @Test("hosts join a store that a dead host had for itself, within seconds")
    func joiningAfterDeath() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let dead = try place.open { options in
                options.use = .alone
                options.testHooks.holdsBeats = { true }
            }
            defer { dead.close() }
            let began = MonotonicTime.now
            let hosts = Locked<[PostgresStore]>([])
            try TestThreads.run(2) { _ in
                let host = try place.open { $0.leaseWaitSeconds = 20 }
                hosts.withLock { $0.append(host) }
            }
            #expect((began + 20).secondsLeft > 0)
            for host in hosts.value { try host.transact { try $0.set([1], to: [2]) } }
            #expect(throws: StoreError.self) { try dead.transact { try $0.set([1], to: [3]) } }
            #expect(try hosts.value[0].read { try $0.value(forKey: [1]) } == [2])
            for host in hosts.value { host.close() }
        }
    }

    @Test("a store that another host shares is not emptied, and is when that host has closed it or has died")
    func emptying() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let isDead = Locked(false)
            let first = try place.open { $0.leaseWaitSeconds = 0 }
            let second = try place.open { options in
                options.hostName = "second"
                options.testHooks.holdsBeats = { isDead.value }
            }
            try first.transact { try $0.set([1], to: [2]) }
            let error = #expect(throws: StoreError.self) { try first.removeEverything() }
            #expect(error?.code == .held)
            #expect(error?.fields["holderName"] == "second")
            #expect(try second.read { try $0.value(forKey: [1]) } == [2])
            first.close()
            isDead.withLock { $0 = true }
            let third = try place.open { $0.leaseWaitSeconds = 20 }
            try third.removeEverything()
            #expect(try third.read { try $0.value(forKey: [1]) } == nil)
            // Hosts can join again.
            try place.open { $0.leaseWaitSeconds = 0 }.close()
            third.close()
            second.close()
        }
    }

    @Test("a host that has had the store for itself for hours keeps it, and rows of dead hosts go")
    func keepsLongLease() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore { $0.testHooks.upkeepSeconds = 0.1 }
            let store = try place.openAlone(waiting: 0)
            defer { store.close() }
            try place.run("UPDATE stratus_beats SET at = at - interval '2 hours'")
            try place.run("INSERT INTO stratus_beats (holder, beat, at) VALUES ('x', 1, now() - interval '2 hours')")
            let others = "SELECT count(*)::text FROM stratus_beats WHERE holder = 'x'"
            for _ in 0..<600 where try place.text(others) != "0" { MonotonicTime.pause(seconds: 0.05) }
            #expect(try place.text(others) == "0")
            #expect(try place.text("SELECT count(*)::text FROM stratus_beats") == "1")
            let fresh = "SELECT (at > now() - interval '1 minute')::text FROM stratus_beats"
            #expect(try place.text(fresh) == "true")
        }
    }

    @Test("two hosts that open tables of an older layout at once both get the store")
    func upgradingTogether() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            for statement in [
                "ALTER TABLE stratus_beats DROP COLUMN name, DROP COLUMN pid, DROP COLUMN at",
                "UPDATE stratus_host SET schema_version = 2",
            ] { try place.run(statement) }
            let hosts = Locked<[PostgresStore]>([])
            try TestThreads.run(3) { _ in
                let host = try place.open { $0.leaseWaitSeconds = 10 }
                hosts.withLock { $0.append(host) }
            }
            for host in hosts.value { try host.transact { try $0.set([1], to: [2]) } }
            for host in hosts.value { host.close() }
        }
    }

    @Test("a host stops when the store that it opened is another one")
    func replaced() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let format = OpenedFormat()
            let (host, _) = try PostgresStore.open(
                url: place.url, options: place.options(),
                check: FormatCheck(key: StoreFormat.key) { try format.verify($0) })
            defer { host.close() }
            let engine = try RecordEngine(store: host, incarnation: UUID())
            try engine.transact { try $0.set([1], to: [1]) }
            // As the restored backup of another store.
            let other = MemoryStore()
            _ = try RecordEngine(store: other, incarnation: UUID())
            let entry = try #require(try other.read { try $0.value(forKey: StoreFormat.key) })
            let text = entry.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            let key = StoreFormat.key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            try place.run("UPDATE stratus_entries SET v = '\\x\(text)' WHERE k = '\\x\(key)'")
            let writing = #expect(throws: StoreError.self) { try host.transact { try $0.set([1], to: [2]) } }
            #expect(writing?.code == .unavailable)
            let reading = #expect(throws: StoreError.self) { try host.read { try $0.value(forKey: [1]) } }
            #expect(reading?.message.contains("replaced") == true)
        }
    }

    /// Writes until the watcher of a count has been called. Nothing tells when a connection has begun to listen.
    private static func write(_ key: [UInt8], by writer: PostgresStore, until count: Locked<Int>) throws {
        let before = count.value
        for _ in 0..<1_000 where count.value == before {
            try writer.transact { try $0.set(key, to: [1]) }
            MonotonicTime.pause(seconds: 0.02)
        }
        #expect(count.value > before, "the watcher was not called")
    }

    @Test("a commit wakes watchers at other hosts, and only for ranges that are announced")
    func waking() async throws {
        try await TestThreads.offPool {
            let announced = KeyRange(from: [1], upTo: [2])
            let place = try PostgresTestStore { $0.announcedRanges = [announced] }
            let (writer, listener) = (try place.open(), try place.open())
            defer {
                writer.close()
                listener.close()
            }
            let (count, otherCount) = (Locked(0), Locked(0))
            let watches = [
                listener.watchOthers(announced) { count.withLock { $0 += 1 } },
                listener.watchOthers(KeyRange(from: [5], upTo: [6])) { otherCount.withLock { $0 += 1 } },
            ]
            defer { for watch in watches { watch.end() } }
            // A connection that begins to listen calls all watchers once, perhaps in the first of these.
            for _ in 0..<2 { try Self.write([1, 1], by: writer, until: count) }
            let before = otherCount.value
            try writer.transact { try $0.set([5, 1], to: [1]) }
            try Self.write([1, 1], by: writer, until: count)
            #expect(otherCount.value == before)
        }
    }

    @Test("watchers are called when the connection that listens was lost and made again")
    func wakingAgain() async throws {
        try await TestThreads.offPool {
            let announced = KeyRange(from: [1], upTo: [2])
            let place = try PostgresTestStore { $0.announcedRanges = [announced] }
            let name = try place.schema
            let writer = try place.open()
            let (listener, _) = try PostgresStore.open(
                url: place.url + "&application_name=\(name)", options: place.options())
            defer {
                writer.close()
                listener.close()
            }
            let count = Locked(0)
            let watch = listener.watchOthers(announced) { count.withLock { $0 += 1 } }
            defer { watch.end() }
            try Self.write([1, 1], by: writer, until: count)
            try place.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(name)'")
            for _ in 0..<2 { try Self.write([1, 1], by: writer, until: count) }
        }
    }
}
