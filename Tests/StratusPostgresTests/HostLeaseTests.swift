// The lease of the one host of a store: who gets it, when a dead host's ends, and what an overtaken host can still do.

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
        var health = LeaseHealth(generation: 3, holder: [1], takenAt: 100)
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
        var health = LeaseHealth(generation: 3, holder: [1], takenAt: 100)
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
        var health = LeaseHealth(generation: 3, holder: [2], takenAt: 100)
        health.note(Self.first, beatBegan: 101)
        #expect(health.state(at: 101) == .lost(Self.first))
    }
}

@Suite(.serialized, .enabled(if: PostgresTestStore.isServerThere)) struct HostLeaseTests {
    @Test("a second host is refused with the name of the first, and gets the store when the first has closed it")
    func second() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open { $0.hostName = "first" }
            let error = #expect(throws: StoreError.self) { try place.open { $0.leaseWaitSeconds = 0 } }
            #expect(error?.code == .held)
            #expect(error?.fields["holderName"] == "first")
            #expect(error?.fields["holderProcessID"].map { Int($0) ?? 0 } != 0)
            first.close()
            let second = try place.open { $0.leaseWaitSeconds = 0 }
            defer { second.close() }
            try second.transact { try $0.set([1], to: [2]) }
        }
    }

    @Test("a host that does not know whether it got the lease takes it again, without waiting for itself")
    func ownLease() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            let info = try ConnectionInfo(parsing: place.url)
            let options = place.options { options in
                options.random = { 7 }
                options.leaseWaitSeconds = 0
            }
            let lost = try HostLease.take(info, .shared(), options)
            let lease = try HostLease.take(info, .shared(), options)
            defer { lease.giveBack() }
            #expect(lease.generation == lost.generation + 1)
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
                        options.leaseWaitSeconds = 12
                        options.testHooks.fenceSeconds = 8
                    })
            }
            #expect(error?.code == .held)
            #expect(error?.message.contains("pg_signal_backend") == true)
            #expect((began + 40).secondsLeft > 0)
        }
    }

    @Test("a host waits for the lease as long as it may")
    func waiting() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open()
            let isWaiting = Latch("the second host to open")
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    isWaiting.open()
                    try place.open { $0.leaseWaitSeconds = 30 }.close()
                } else {
                    try isWaiting.wait()
                    try first.transact { try $0.set([1], to: [2]) }
                    first.close()
                }
            }
        }
    }

    @Test("a living host keeps its lease while another waits longer than a dead one's lasts")
    func living() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open()
            defer { first.close() }
            let error = #expect(throws: StoreError.self) { try place.open { $0.leaseWaitSeconds = 7 } }
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
                        let second = try place.open { $0.hostName = "second" }
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
            let place = try PostgresTestStore { $0.commitPatienceSeconds = 60 }
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
                    let second = try place.open { $0.leaseWaitSeconds = 20 }
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
                    let store = try place.open { $0.leaseWaitSeconds = 12 }
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
}
