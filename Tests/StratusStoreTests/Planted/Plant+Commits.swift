// Planted faults of publication and of the store's life.

@testable import StratusStore
import StratusTestSupport

extension Plant {
    private static let publicationOrder =
        "publish actions run once for each commit, in commit order, and never for a failure"

    private static let publicationOnce =
        "publish actions run once for each commit, before transact returns, and never for a failure"

    static let watches: [Plant] = [
        Plant(
            "a watch is called whatever is committed",
            foundBy: ["a watch is called for nothing but commits in its range, and not after its end"]
        ) { store in
            HookedStore(store) {
                Hooks(watch: { $0.watch(KeyRange(from: [], upTo: [0xFF]), $2) })
            }
        },
        Plant(
            "a watch never ends",
            foundBy: [
                "a watch is called for nothing but commits in its range, and not after its end",
                "a watch ends when it is released, also inside its own call",
            ]
        ) { store in
            let watches = Locked<[StoreWatch]>([])
            return HookedStore(store) {
                Hooks(watch: { store, range, onChange in
                    let watch = store.watch(range, onChange)
                    watches.withLock { $0.append(watch) }
                    return StoreWatch {}
                })
            }
        },
    ]

    static let publication: [Plant] = [
        Plant(
            "what was made of a value is kept when its key is written",
            foundBy: ["what is kept of a value is given to snapshots that see just that value, while others write"]
        ) { store in
            let kept = Locked<[[UInt8]: any AnyObject & Sendable]>([:])
            return HookedStore(store) {
                Hooks(
                    keptObject: { key in kept.withLock { $0[key] } },
                    keep: { key, made in kept.withLock { $0[key] = made } })
            }
        },
        Plant("publish actions run twice", foundBy: [publicationOrder, publicationOnce]) { store in
            HookedStore(store) {
                Hooks(onPublish: { transaction, action in
                    transaction.onPublish(action)
                    transaction.onPublish(action)
                })
            }
        },
        Plant("publish actions run when they are registered", foundBy: [publicationOrder, publicationOnce]) { store in
            HookedStore(store) {
                Hooks(onPublish: { transaction, action in action(transaction.version + 1) })
            }
        },
        Plant(
            "publish actions run after the version is visible",
            foundBy: [
                "a version is announced before a reader can get it, and afterwards no reader gets an older one"
            ]
        ) { store in
            HookedStore(store) {
                let pending = Locked<[@Sendable () -> Void]>([])
                return Hooks(
                    onPublish: { transaction, action in
                        transaction.onPublish { version in pending.withLock { $0.append { action(version) } } }
                    },
                    afterCommit: {
                        for _ in 0..<20 { TestThreads.yield() }
                        for action in pending.value { action() }
                    })
            }
        },
        Plant(
            "publish actions of an empty transaction are forgotten, and others run in reverse",
            foundBy: ["publish actions have run when transact returns, in the order they were registered"]
        ) { store in
            HookedStore(store) {
                let pending = Locked<[Hooks.PublishAction]>([])
                return Hooks(onPublish: { transaction, action in
                    let isFirst = pending.withLock {
                        $0.append(action); return $0.count == 1
                    }
                    guard isFirst else { return }
                    transaction.onPublish { version in
                        for action in pending.value.reversed() { action(version) }
                    }
                })
            }
        },
        Plant(
            "the version stands still",
            foundBy: ["the version grows with every commit that writes, and with nothing else"]
        ) { store in
            HookedStore(store) { Hooks(version: { _ in 7 }) }
        },
        Plant(
            "nothing is ever unpublished",
            foundBy: ["a write is unpublished from the moment it is made until its version is published"]
        ) { store in
            HookedStore(store) { Hooks(hasUnpublishedWrite: { _, _ in false }) }
        },
        Plant(
            "of a range only its first key is ever unpublished",
            foundBy: ["a write is unpublished from the moment it is made until its version is published"]
        ) { store in
            HookedStore(store) {
                Hooks(hasUnpublishedWriteInRange: { $0.hasUnpublishedWrite(forKey: $1.lower) })
            }
        },
        Plant(
            "the end of a range is taken for a key of it",
            foundBy: ["a write is unpublished from the moment it is made until its version is published"]
        ) { store in
            HookedStore(store) {
                Hooks(hasUnpublishedWriteInRange: { transaction, range in
                    transaction.hasUnpublishedWrite(in: range) || transaction.hasUnpublishedWrite(forKey: range.upper)
                })
            }
        },
    ]

    static let lifecycle: [Plant] = [
        Plant(
            "reopening loses what was written last",
            foundBy: [
                "reopening finds exactly what was committed",
                "closing finishes the transaction that is running",
            ],
            reopen: { store in
                let reopened = store.reopened()
                let last = try? reopened.read { reader in
                    var last: [UInt8]?
                    try reader.scan(KeyRange(from: [], upTo: [0xFF, 0xFF, 0xFF, 0xFF]), .backward, limit: 1) { key, _ in
                        last = [UInt8](copying: key)
                        return .next
                    }
                    return last
                }
                if let last { try? reopened.transact { try $0.delete(last) } }
                return reopened
            }
        ) { $0 },
        Plant(
            "a closed store goes on",
            foundBy: ["a closed store refuses everything with closed, and may be closed again"]
        ) { HookedStore($0, ignoresClose: true) { Hooks() } },
    ]
}
