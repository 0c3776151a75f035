// Runs transactions: alone, or in groups of callers that name one lane. A group is one transaction of the engine.
//
// How it works, step by step:
//   1. A caller whose lane is free becomes its leader at once.
//   2. Any other caller queues, and rehearses meanwhile: its body runs on its own thread up to the first read that
//      needs an answer. That shows what it will fetch first, and is thrown away.
//   3. When the lane is free, the oldest caller that has rehearsed leads. It takes those behind it that have rehearsed
//      too, as far as a group and a plan have room, begins a session, and fetches what all of them want: one trip.
//   4. The leader passes a token to each member in turn. A member runs its body on its own thread, on the group's
//      snapshot under the group's writes. If the body throws, its writes are undone and the error is its result. When
//      the group has written much, the members that have not run go back to the head of the queue, and so does one
//      whose reads and writes would make the group larger than a transaction may be.
//   5. The leader commits: one trip. Then it publishes, and all members return their results, their errors included:
//      these rest on reads that the commit has shown to be valid.
//   6. If the session met a conflict or was lost, all results are thrown away, and the same members run again after a
//      pause. A member whose time is over leaves.
//   7. If another run cannot fix a failure, it ends a group of one. The members of a larger group run again, each
//      alone, so that only the members that cause the error get it.
//
// Invariants:
//   1. A body runs only on the thread of its caller, and one body of a group at a time.
//   2. The leader is the first member of its group, so each group runs at least one body.
//   3. A lane that is taken has one leader, which frees it or passes it on. While a lane is free, no caller that has
//      rehearsed waits in it.
//   4. No caller returns before the commit that its result rests on, and none waits for its own group's token longer
//      than the bodies before it and the engine take.
// The lock is held for moments: never while a body runs or the engine works. So a body must not wait for another caller
// of its lane to return: that caller may wait for the body's group.

/// The queues of transactions, and their leaders.
final class WireLanes: @unchecked Sendable {  // because the monitor guards all state
    private struct Lane {
        var isTaken = false
        /// In the order of arrival.
        var queue: [WireMember] = []
    }

    private let source: any WireSource
    private let ledger: WireLedger
    private let options: WireOptions
    private let monitor = Monitor()
    /// Lanes that are taken or have a queue.
    private var lanes: [StoreLane: Lane] = [:]

    init(_ source: any WireSource, _ ledger: WireLedger, _ options: WireOptions) {
        self.source = source
        self.ledger = ledger
        self.options = options
    }

    /// Runs a transaction that no other joins.
    func transactAlone<Success>(
        isNested: Bool, _ body: (any StoreTransaction) throws -> Success
    ) throws -> Success {
        var result: Result<Success, any Error>?
        let member = WireMember(nil, makeAttempts(isNested))
        lead([member]) { group in result = run(body, in: group, for: member) }
        return try outcome(of: member, result)
    }

    /// Runs a transaction in its lane's next group.
    func transact<Success>(
        in lane: StoreLane, isNested: Bool, _ body: (any StoreTransaction) throws -> Success
    ) throws -> Success {
        var result: Result<Success, any Error>?
        let member = WireMember(lane, makeAttempts(isNested))
        if !arrive(member) { rehearse(body, for: member) }
        while true {
            switch awaitTurn(of: member) {
            case .leading(let members):
                lead(members) { group in result = run(body, in: group, for: member) }
            case .running(let group):
                result = run(body, in: group, for: member)
                giveBack(member)
            case .ended: return try outcome(of: member, result)
            case .queued, .grouped: preconditionFailure("A caller goes on only when it has something to do.")
            }
        }
    }

    private func makeAttempts(_ isNested: Bool) -> WireAttempts {
        WireAttempts(
            source: source, caller: WireCaller(deadline: source.now() + options.deadlineSeconds, isNested: isNested))
    }

    private func outcome<Success>(of member: WireMember, _ result: Result<Success, any Error>?) throws -> Success {
        if case .ended(let error?) = member.turn { throw error }
        guard let result else { preconditionFailure("A group that was committed has run all of its bodies.") }
        return try result.get()
    }

    // MARK: Bodies

    /// Runs a body as a part of its group. Its writes stay if it returns.
    private func run<Success>(
        _ body: (any StoreTransaction) throws -> Success, in group: WireGroup, for member: WireMember
    ) -> Result<Success, any Error> {
        let mark = group.overlay.mark
        if options.runsBodiesTwice {
            let first = group.makeTransaction(options)
            // What the first run throws is thrown away with it: the second decides.
            _ = try? body(first)
            _ = first.end()
            group.overlay.undo(to: mark)
        }
        let transaction = group.makeTransaction(options)
        let result = Result { try body(transaction) }
        member.lastRun = WireBodyRun(cost: transaction.end(), countedByteCount: transaction.countedByteCount)
        switch result {
        case .success:
            member.lastRun.hasWritten = transaction.cost.entriesWritten > 0
            member.lastRun.publishActions = transaction.publishActions
        case .failure: group.overlay.undo(to: mark)
        }
        return result
    }

    /// Step 2. What the body returns or throws, and what it writes, is ignored.
    private func rehearse<Success>(_ body: (any StoreTransaction) throws -> Success, for member: WireMember) {
        let snapshot = WireSnapshot(.rehearsal, ledger, options)
        let transaction = WireTransaction(snapshot, WireOverlay(), version: ledger.version, options)
        _ = try? body(transaction)
        _ = transaction.end()
        monitor.withLock {
            member.plan = snapshot.rehearsedPlan
            member.hasRehearsed = true
            if let lane = member.lane, lanes[lane]?.isTaken == false { appointLeader(of: lane) }
        }
        ledger.note { $0.rehearsals += 1 }
    }

    // MARK: Turns

    /// Lets a caller lead a lane that is free, or queues it. Returns whether it leads.
    private func arrive(_ member: WireMember) -> Bool {
        guard let lane = member.lane else { return false }
        return monitor.withLock {
            if lanes[lane, default: Lane()].isTaken {
                lanes[lane]?.queue.append(member)
                return false
            }
            lanes[lane, default: Lane()].isTaken = true
            member.turn = .leading([member])
            return true
        }
    }

    /// Waits until a caller has something to do. A caller that queues too long leaves.
    private func awaitTurn(of member: WireMember) -> WireMember.Turn {
        monitor.withLock {
            while true {
                switch member.turn {
                case .leading, .running, .ended: return member.turn
                case .grouped: member.turnChanged.wait(monitor)
                case .queued:
                    let seconds = member.attempts.secondsLeft
                    guard seconds > 0 else {
                        leaveQueue(member)
                        return member.turn
                    }
                    _ = member.turnChanged.wait(monitor, until: .now + seconds)
                }
            }
        }
    }

    private func leaveQueue(_ member: WireMember) {
        member.turn = .ended(WireAttempts.busy(member.attemptCount, after: member.lastFailure))
        guard let lane = member.lane else { return }
        lanes[lane]?.queue.removeAll { $0 === member }
        dropIfUnused(lane)
    }

    private func giveBack(_ member: WireMember) {
        monitor.withLock {
            member.turn = .grouped
            member.turnGivenBack.signal()
        }
    }

    /// Lets a member run its body on its own thread, and waits for it.
    private func pass(_ group: WireGroup, to member: WireMember) {
        monitor.withLock {
            member.turn = .running(group)
            member.turnChanged.signal()
            while case .running = member.turn { member.turnGivenBack.wait(monitor) }
        }
    }

    /// Ends members with an error of the store, or with their own results.
    private func end(_ members: [WireMember], _ error: (any Error)?) {
        monitor.withLock {
            for member in members {
                member.turn = .ended(error)
                member.turnChanged.signal()
            }
        }
    }

    /// Frees a lane for its next leader.
    private func free(_ lane: StoreLane?) {
        guard let lane else { return }
        monitor.withLock {
            lanes[lane]?.isTaken = false
            appointLeader(of: lane)
            dropIfUnused(lane)
        }
    }

    private func dropIfUnused(_ lane: StoreLane) {
        if let state = lanes[lane], !state.isTaken, state.queue.isEmpty { lanes[lane] = nil }
    }

    /// Step 3: forms the next group of a free lane, if a caller has rehearsed, and lets it lead.
    private func appointLeader(of lane: StoreLane) {
        guard let queue = lanes[lane]?.queue, let leader = queue.first(where: { $0.hasRehearsed }) else { return }
        var members: [WireMember] = []
        var keyCount = 0
        var scanCount = 0
        for member in queue where member.hasRehearsed {
            guard members.isEmpty || !leader.runsAlone && !member.runsAlone else { break }
            keyCount += member.plan.keys.count
            scanCount += member.plan.scans.count
            let fits =
                members.count < options.groupMemberCount && keyCount <= options.planKeyCount
                && scanCount <= options.planScanCount
            guard members.isEmpty || fits else { break }
            members.append(member)
        }
        for member in members { member.turn = .grouped }
        lanes[lane]?.queue.removeAll { if case .queued = $0.turn { false } else { true } }
        lanes[lane]?.isTaken = true
        leader.turn = .leading(members)
        leader.turnChanged.signal()
    }

    /// Puts members that have not run back to the head of their lane's queue.
    private func queueAgain(_ members: some Collection<WireMember>) {
        monitor.withLock {
            for member in members {
                member.turn = .queued
                // Wake it: a queued member waits with a time limit, a grouped one without.
                member.turnChanged.signal()
            }
            if let lane = members.first?.lane { lanes[lane]?.queue.insert(contentsOf: members, at: 0) }
        }
    }
}

// MARK: Leading

extension WireLanes {
    /// Runs a group until it is committed, has failed, or gets another leader. Called by its first member, which runs
    /// its own body by `runOwn`.
    private func lead(_ members: [WireMember], _ runOwn: (WireGroup) -> Void) {
        var members = members
        let lane = members.first?.lane
        while let leader = members.first {
            let outcome: WireFailure?
            do {
                outcome = attempt(&members, try source.beginWriting(lane: lane, for: leader.attempts.caller), runOwn)
            } catch let failure as WireFailure where failure.allowsAnotherRun {
                outcome = failure
            } catch let error as StoreError where error.code == .unavailable && !leader.attempts.areLeft {
                // No session came in the leader's time. The others may have more.
                finish([leader], error)
                return passOn(members, after: .lost(error))
            } catch {
                // No member has caused it, so every other one would get it too.
                finish(members, WireFailure(error).error)
                return free(lane)
            }
            guard let failure = outcome else {
                end(members, nil)
                return free(lane)
            }
            if case .conflict = failure { ledger.note { $0.conflicts += 1 } }
            for member in members { member.note(failure) }
            guard failure.allowsAnotherRun else {
                if members.count == 1 || failure.error.code == .commitUnknown {
                    finish(members, failure.error)
                    return free(lane)
                }
                // Step 7.
                for member in members { member.runsAlone = true }
                queueAgain(members.dropFirst())
                members = [leader]
                continue
            }
            do {
                try source.pause(attempt: leader.attemptCount)
            } catch {
                finish(members, error)
                return free(lane)
            }
            guard leader.attempts.areLeft else { return passOn(members, after: failure) }
            endLate(&members, after: failure)
        }
        free(lane)
    }

    /// Ends the members whose time is over.
    private func endLate(_ members: inout [WireMember], after failure: WireFailure) {
        members.removeAll { !isInGroup($0) }
        for member in members where !member.attempts.areLeft {
            finish([member], WireAttempts.busy(member.attemptCount, after: failure))
        }
        members.removeAll { !isInGroup($0) }
    }

    /// Lets the next member that has time lead.
    private func passOn(_ members: [WireMember], after failure: WireFailure) {
        var members = members
        let lane = members.first?.lane
        endLate(&members, after: failure)
        guard let next = members.first else { return free(lane) }
        monitor.withLock {
            next.turn = .leading(members)
            next.turnChanged.signal()
        }
    }

    /// Ends members whose transactions were not committed.
    private func finish(_ members: [WireMember], _ error: any Error) {
        for member in members { ledger.add(member.lastRun.cost) }
        end(members, error)
    }

    private func isInGroup(_ member: WireMember) -> Bool {
        monitor.withLock { if case .ended = member.turn { false } else { true } }
    }

    /// Steps 3 to 5. Removes the members that it did not run. Returns nil when the others are committed.
    private func attempt(
        _ members: inout [WireMember], _ session: any WireSession, _ runOwn: (WireGroup) -> Void
    ) -> WireFailure? {
        let group = WireGroup(session, ledger, options)
        let failure = run(&members, in: group, runOwn) ?? commit(members, group)
        if failure != nil { group.session.abandon() }
        return failure
    }

    private func run(
        _ members: inout [WireMember], in group: WireGroup, _ runOwn: (WireGroup) -> Void
    ) -> WireFailure? {
        for member in members { group.snapshot.announce(member.plan) }
        do {
            try group.snapshot.fetchAnnounced()
        } catch {
            return group.failure ?? WireFailure(error)
        }
        var runCount = 0
        var countedByteCount = 0
        for member in members {
            let mark = group.overlay.mark
            if runCount == 0 { runOwn(group) } else { pass(group, to: member) }
            // A body may have swallowed it.
            if let failure = group.failure { return failure }
            countedByteCount += member.lastRun.countedByteCount
            if runCount > 0, countedByteCount > StoreLimits.maximumTransactionByteCount {
                group.overlay.undo(to: mark)
                break
            }
            runCount += 1
            if group.overlay.byteCount > options.groupByteCount { break }
        }
        if runCount < members.count {
            queueAgain(members[runCount...])
            members.removeSubrange(runCount...)
        }
        return nil
    }

    private func commit(_ members: [WireMember], _ group: WireGroup) -> WireFailure? {
        // After a failed attempt nothing is inserted: a damaged index may have an entry that should be absent.
        let isFirst = members.allSatisfy { $0.attemptCount == 0 }
        let writes = group.overlay.written(isAbsent: isFirst ? group.snapshot.isKnownAbsent : nil)
        if writes.isEmpty, !group.snapshot.hasAsked {
            // Nothing was read either.
            group.session.abandon()
        } else {
            ledger.note { $0.trips += 1 }
            do { try group.session.commit(writes) } catch { return WireFailure(error) }
        }
        ledger.publish(members.map(\.lastRun), of: group.overlay, isEmpty: writes.isEmpty)
        return nil
    }
}
