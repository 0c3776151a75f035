// Which of the servers of an address to connect to.
//
// How it works: one server at a time takes writes, and after a failover it is another one. The former one may live on
// and not know it. It counts as replaced as soon as a connection has found a server with a newer timeline, which every
// promotion begins. Until then a server that does not answer in time is tried after the others: where commits wait for
// a standby, a replaced server has none, so the beats of the host's lease get no answer there.
//
// Invariants:
//   1. A connection to a replaced server sends nothing more, and no new one is made.
//   2. Order alone follows from silence: a server that only was slow is used again.
//   3. Hosts read from a replaced server for as long as they trust their last beat there, and not longer (`HostLease`).
//      A host that finds a newer timeline writes later than that, so nobody reads what its writes have made old.

internal import Glibc
internal import StratusStore

/// What the connections to an address have found out, for all of them.
struct ServerRoute: Sendable {
    private static let firstTimeline: Int64 = 1
    /// How long a host trusts its last beat.
    static let trustedSeconds = 4.0

    /// The server that took a connection last.
    var last: ConnectionInfo.Endpoint?
    /// The one that has not answered in time, and took no connection since.
    var silent: ConnectionInfo.Endpoint?
    /// The newest timeline of a server that took writes. Nil if none is known.
    private(set) var newest: ServerTimeline?
    /// When it was found, if a promotion has begun it.
    private var foundAt: MonotonicTime?

    /// Until when a host may still read from a server that was replaced. Nil if it cannot.
    var readElsewhereUntil: MonotonicTime? {
        guard let foundAt, foundAt + Self.trustedSeconds > .now else { return nil }
        return foundAt + Self.trustedSeconds
    }

    /// Whether a server with this timeline was replaced.
    func isReplaced(_ timeline: ServerTimeline?) -> Bool {
        guard let timeline, let newest else { return false }
        return timeline.system != newest.system || timeline.number < newest.number
    }

    /// The order in which to try these: the last one, the others as they are, and the silent one.
    func order(_ all: [ConnectionInfo.Endpoint]) -> [ConnectionInfo.Endpoint] {
        let first = all.filter { $0 == last && $0 != silent }
        let end = all.filter { $0 == silent }
        return first + all.filter { !first.contains($0) && !end.contains($0) } + end
    }

    /// Notes a server that took a connection. Returns false if it was replaced. Another system replaces one that was
    /// upgraded or copied.
    mutating func note(_ endpoint: ConnectionInfo.Endpoint, _ timeline: ServerTimeline?) -> Bool {
        if let timeline {
            if let newest, newest.system == timeline.system, timeline.number < newest.number { return false }
            if timeline != newest {
                if newest != nil || timeline.number > Self.firstTimeline { foundAt = .now }
                newest = timeline
            }
        }
        last = endpoint
        if silent == endpoint { silent = nil }
        return true
    }
}

extension ConnectionInfo {
    /// The servers of the address, in the order in which to try them. A name that has several addresses is several
    /// servers, because libpq has no limit of time for each.
    func serversToTry() -> [Endpoint] {
        let all = endpoints.flatMap { $0.resolved() }
        return route.value.order(all)
    }

    /// Notes that a server has not answered in time.
    func noteSilence(of endpoint: Endpoint?) {
        guard let endpoint else { return }
        route.withLock { $0.silent = endpoint }
    }
}

extension ConnectionInfo.Endpoint {
    /// The endpoint with each address of its host; itself where there is no name to look up, or where looking up fails,
    /// which libpq then explains. It waits for the resolver.
    fileprivate func resolved() -> [Self] {
        guard let host, address == nil, host.first != "/", host.first != "@" else { return [self] }
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>? = nil
        guard unsafe getaddrinfo(host, nil, &hints, &first) == 0 else { return [self] }
        defer { unsafe freeaddrinfo(first) }
        var found: [Self] = []
        var next = unsafe first
        while let entry = unsafe next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let failed = unsafe getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            let numbers = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            if failed == 0 {
                found.append(Self(host: host, address: String(decoding: numbers, as: UTF8.self), port: port))
            }
            unsafe next = entry.pointee.ai_next
        }
        return found.isEmpty ? [self] : found
    }
}
