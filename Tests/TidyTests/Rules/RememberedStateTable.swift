// The properties that outlive a request, with what each is used for where other processes write the store
// (`RememberedStateRule`). Types are in the order of targets and folders.
//
// `AncestorCache` and `PublishedCache` have a role of their own (`CacheRole`), so a guess of theirs answers only where
// no other process writes. Caches that keep nothing on a shared store are `alone`.

extension RememberedStateRule {
    static let table: Table = records.merging(cloud) { $1 }.merging(stores) { $1 }.merging(postgres) { $1 }
        .merging(host) { $1 }.merging(sessions) { $1 }

    private static let records: Table = [
        "AncestorCache": [
            .guess: ["table", "hasEvicted", "lanes.asked", "lanes.askedCount"],
            .local("counters"): ["lanes.hits", "lanes.misses"],
        ],
        "KeptNode": [.guess: ["useCount"]],
        "RecordEngine": [
            .guess: ["ancestorCache", "directoryCache"],
            .alone: ["rebuilding"],
            .local("a rebuild by this process, which has a store on a server for itself"): ["isRebuilding"],
        ],
        "OpenedFormat": [.store: ["incarnation"]],
        "WorkLeases": [
            .store: ["state.held", "state.others"],
            .local("this host's own rounds and beats"): [
                "state.roundCounts", "state.beat", "state.nextBeat", "state.hasFailed", "state.hasRenewed",
                "state.record", "beating",
            ],
        ],
    ]

    private static let cloud: Table = [
        // Names never change. The standing of a guessed account is required again in the request's own snapshot.
        "AccountDirectory": [.guess: ["cache", "guessedIDs"]],
        "AcceptanceDirectory": [.alone: ["cache", "visibilities"]],
        "SchemaKeeper": [.alone: ["cache"]],
        "SubscriptionDirectory": [.alone: ["state.answers", "state.publics", "state.lastPublished"]],
        "UnknownFields": [.local("warnings that wait for the host"): ["pending"]],
        "UnknownFields.Memory": [.local("one warning in each process"): ["warned"]],
        "DeliveryBell": [
            .guess: ["isRung", "devices"], .local("one report of a damaged entry in each process"): ["reported"],
        ],
        "TokenKeeper": [
            // Written once in the life of a store. Transactions compare the incarnation, which identifies it.
            .store: ["known.seal"],
            .local("whether this process has created the secret"): ["known.hasMadeSecret"],
        ],
        "AssetStore": [
            .guess: ["sweep"],
            .local("files of this process"): ["fileNumber", "knownDirectories"],
        ],
        "AssetLeases": [
            // Contents that are files. Where they are in the store, the leases are, too.
            .alone: [
                "state.leases", "state.marks", "state.markNumber", "state.orphans", "state.hasOverflowed",
                "state.unused",
            ],
            .local("answers of this host; contents wait longer while others have the store open"): [
                "state.holds", "state.holdNumber",
            ],
        ],
        "StoredContents": [
            .store: ["state.leases"],
            .local("leases to remove, and the number of the next upload"): ["state.ended", "lastNumber"],
            // Has a content uploaded again.
            .guess: ["state.damaged"],
            .local("how long this host has seen contents wait"): ["state.waiting"],
        ],
        "ReleasedCopies": [.local("files of this process"): ["copies"]],
        "HeldDirectory": [.local("the path of the store's directory"): ["held"]],
    ]

    private static let stores: Table = [
        "Locked": [.local("a lock"): ["mutex", "handover"]],
        "PublishedCache": [.guess: ["state.entries", "state.lastPublished"]],
        "StoreWatch": [.local("callers that wait"): ["onEnd"]],
        "WatchList": [.local("callers that wait"): ["state.entries", "state.nextID", "count"]],
        "MemoryStore": [
            .alone: [
                "lane", "published.tree", "published.version", "published.statistics", "published.isClosed",
            ]
        ],
        "ByteTree.Node": [.alone: ["keys", "values", "children"]],
        "WireLanes": [.local("transactions that wait"): ["monitor", "lanes"]],
        "WireLedger": [.local("counters of this process's commits"): ["state.statistics", "state.version"]],
        "WireGate": [.local("calls that run"): ["monitor", "callsEnded", "isClosed", "calls", "writers"]],
    ]

    private static let postgres: Table = [
        "ConnectionPool": [
            .local("connections"): [
                "monitor", "changed", "idle", "waiters", "count", "failures", "lastFailure", "isTrying", "nextAttempt",
                "isClosed", "opened",
            ]
        ],
        "PostgresConnection": [
            .local("one connection"): [
                "pipeline", "isFinished", "isBroken", "trips", "counter", "generation", "serverVersion", "isPostgreSQL",
                "endpoint", "timeline", "lost", "session",
            ]
        ],
        "LostSessions": [.local("sessions that the next flush ends"): ["names"]],
        "NoticeBox": [.local("one connection"): ["all"]],
        "TripCounter": [.local("a counter"): ["state"]],
        // A server that was replaced is refused, and a new one written to later: neither answers a request.
        "ConnectionInfo": [.local("which server takes writes"): ["route"]],
        "ReceiptDesk": [.local("which server takes writes"): ["route"]],
        "Libpq": [.local("the loaded library"): ["loaded"]],
        "LoginGate": [.local("whether the process is ending"): ["insideCount", "isClosed", "processID"]],
        "ReceiptUpkeep": [.guess: ["limit"]],
        "StandbyUpkeep": [
            .local("the settings of its server"): ["state.isNamed", "state.isReplicated", "state.waitingCount"]
        ],
        // Notifications only wake: who is woken reads the store.
        "ChangeNotices": [.local("a thread"): ["monitor", "ended", "posted", "isStopping", "isRunning"]],
        "HostLease": [
            // Every transaction reads the generation. A lost lease stays lost.
            .store: ["health"],
            .local("a thread"): ["monitor", "changed", "isStopping", "isRunning", "hasReported", "connection"],
        ],
        "PostgresSource": [.local("counters"): ["counts.extraTrips", "counts.unknownOutcomes"]],
        "ClosingSignal": [.local("threads that pause"): ["monitor", "changed", "end"]],
    ]

    private static let host: Table = [
        "Stratus": [
            .local("which store the program uses"): ["ofTask", "ofProcess"],
            .local("a socket"): ["toolSocket"],
        ],
        "Stratus.FaultPlan": [.local("errors that a test plans"): ["rules", "hasRules"]],
        "Stratus.FaultPlan.Fault": [.local("a counter"): ["hits"]],
        "Stratus.ManualClock": [
            .local("a clock that a test moves"): ["hands.now", "hands.uptimeSeconds", "hands.listeners"]
        ],
        "EmbeddedStore": [.local("which store the program uses"): ["chosen", "defaultContainer"]],
        "OpenStratus": [.local("the open stores"): ["condition", "stores", "busy"]],
        "HostedServer": [
            .local("whether this host's store is open, and its requests"): [
                "condition", "recovering", "state", "runningCount", "isAbandoningRequests", "watches", "onChange",
            ]
        ],
        "StoreBacking": [.local("files of this process"): ["temporaryDirectory"]],
        "MemoryDirectories": [
            .local("files of this process"): [
                "state.directory", "state.userCount", "state.lastNumber", "state.hasSwept",
            ]
        ],
        "StoreRecovery": [
            .local("reopening this host's store"): [
                "telling", "isTelling", "condition", "parts", "failure", "attempt", "isStarted", "isStopped",
            ]
        ],
        "UpkeepThread": [.local("a thread"): ["condition", "work", "isStopped", "isWoken", "pauseCount"]],
        // Files beside a store in a directory, which one process has at a time.
        "OperationFiles": [.alone: ["kept"]],
        "StoredOperations": [
            .alone: ["kept"],
            .local("files of this process, and whether it has looked for leftovers"): [
                "directory", "hasLooked", "incomingCount",
            ],
        ],
        "LocalSocketListener": [
            .local("connections"): ["condition", "channels", "threadCount", "isStopped"]
        ],
        "LocalClient": [.local("connections"): ["resting"]],
        "RemoteStore": [.local("a counter"): ["nextVersion"]],
        "EventFeed": [.local("programs that watch"): ["watchers"]],
        "EventWatcher": [.local("programs that watch"): ["condition", "waiting", "taken", "lostCount", "isWoken"]],
    ]

    private static let sessions: Table = [
        "CloudSession": [.local("the account and container in use"): ["signedIn", "defaultContainer"]],
        "CurrentSession": [.local("which store the program uses"): ["ofTask", "ofProcessStorage"]],
        "AccountHolders": [.local("the program's objects"): ["objects"]],
        "ShareObservers": [.local("the program's objects"): ["objects"]],
        "SessionWatchers": [.local("the program's objects"): ["watchers"]],
        "NotificationHub": [
            .guess: ["state.seen"],
            .local("listeners and jobs"): [
                "state.inboxes", "state.lastNumber", "state.isDelivering", "state.isWoken", "state.isClosed",
                "state.hasFailed",
            ],
        ],
        "LongLivedRegistry": [
            // Which host runs an operation is in the store.
            .local("this host's objects, and answers that they have got"): ["state.running", "state.concluded"],
            .local("accounts that this host has deleted; upkeep finds the others"): ["state.forgotten"],
        ],
        "MemoryLongLivedStore": [.alone: ["kept", "directory"]],
        "HandedOutCopies": [.local("files of this process"): ["copies"]],
        "SessionActivity": [
            .local("work under way"): [
                "condition", "count", "waiting", "changeNumber", "isClosed", "continuations",
            ]
        ],
        "TimerCore": [
            .local("timers"): ["condition", "entries", "lastNumber", "wakeUp", "hasThread", "isEnded"]
        ],
        "TimedCondition": [.local("a lock"): ["condition"]],
        "PoolTicket": [.local("a job that waits"): ["job"]],
        "PoolState": [
            .local("threads and jobs that wait"): [
                "condition", "waiting", "firsts", "waitingCount", "startedCount", "idleCount", "isClosed",
                "allAcceptedCount",
            ]
        ],
        "CallbackQueue": [.local("jobs that wait"): ["state.waiting", "state.isDraining"]],
    ]

    /// The types whose objects live no longer than a request or another piece of work, by what they live for.
    static let brief: [String: [String]] = [
        "a snapshot or a transaction": [
            "RecordReader", "ZoneReader", "ZoneReads", "ZoneHistory", "MemoryReader", "MemoryTransaction",
            "WireMember", "WireSnapshot", "WireOverlay", "WireReader", "WireTransaction", "PostgresSession",
            "PostgresWriteSession", "LatestAcceptance", "FetchedZone",
        ],
        "the plan of a transaction": ["RecordDraft", "NamedParent"],
        "a page of a query": ["RangeNames", "GivenNames"],
        "a call that reads for long": ["PagedReader", "SubscriptionCheck", "WorkMeter", "ZoneMeter", "WorkCounter"],
        "a round of background work, whose transactions all read its lease": ["WorkRound"],
        "a run of a long-lived operation": ["LongLivedRun"],
    ]
}
