// W4, W5, W7, W8, W10 and W12: clients' requests to the server.

import StratusCloud
import StratusModel
import StratusRecords
import StratusWorkloads

extension CostRun {
    private static let smallZone = StratusSide.zone("tree-1000")

    func countSharing() throws {
        let (stratus, server) = try sides()
        let small = TreeZoneData(count: 1_000)
        try stratus.load(small.zone, into: Self.smallZone)
        let trees = [
            (zone: Self.smallZone, data: small.zone, top: small.top, count: "1,000"),
            (zone: StratusSide.mainZone, data: data.zone, top: data.top, count: "10,000"),
        ]
        for tree in trees {
            let root = tree.data.record(tree.top)
            let zone = ZoneAddress(zoneName: tree.zone.name.text)
            _ = try server.share(root, in: zone, with: [])
            try server.stopSharing(root, in: zone)
            try count("W4 save a share on a root of \(tree.count)") { _ = try server.share(root, in: zone, with: []) }
            try server.stopSharing(root, in: zone)
        }
        try countMoves(stratus, server)
        for tree in trees {
            let zone = ZoneAddress(zoneName: tree.zone.name.text)
            let token = try server.readFeed(of: zone, keys: []).token
            let stride = tree.data.count / 100
            try stratus.save((0..<100).map { tree.data.record($0 * stride) }, in: tree.zone)
            try count("W7 a feed of 100 changes among \(tree.count)") {
                let reading = try server.readFeed(of: zone, after: token)
                guard reading.toldCount == 100 else { throw WorkloadError("A feed is not whole.") }
            }
        }
        try countGuests(stratus, server, small)
        try countQueries(server)
        try countPermissions(stratus, server)
    }

    private func countMoves(_ stratus: StratusSide, _ server: ServerSide) throws {
        let moves = MovesZoneData(sizes: [100, 1_000])
        let id = StratusSide.zone("moves")
        let zone = ZoneAddress(zoneName: id.name.text)
        try stratus.load(moves.zone, into: id)
        for top in moves.tops { _ = try server.share(moves.zone.record(top.root), in: zone, with: []) }
        for top in moves.tops {
            let type = moves.zone.content(of: top.index).type
            let name = moves.zone.names[top.index]
            func move(to folder: Int) throws {
                try server.move(name, type, below: moves.zone.names[moves.folders[folder]], in: zone)
            }
            try move(to: 1)
            try move(to: 0)
            try count("W5 move a subtree of \(top.size) with a share in it") { try move(to: 1) }
        }
    }

    private func countGuests(_ stratus: StratusSide, _ server: ServerSide, _ small: TreeZoneData) throws {
        let roots = [
            (zone: Self.smallZone, record: small.zone.record(small.top), count: "990"),
            (zone: StratusSide.mainZone, record: data.zone.record(data.subtreeTop), count: "1,000"),
        ]
        for root in roots {
            let guest = try server.guest("reader-\(root.zone.name.text)")
            let url = try server.share(root.record, in: ZoneAddress(zoneName: root.zone.name.text), with: [guest])
            try count("W8 accept a share of \(root.count)") { try server.accept(url, by: guest) }
            guard root.zone == StratusSide.mainZone else { continue }
            let zone = ServerSide.shared(root.zone)
            var reading = FeedReading()
            try count("W8 the feed after accepting") { reading = try server.readFeed(of: zone, as: guest.caller) }
            let others = (0..<data.zone.count).filter { $0 < data.subtreeTop && data.zone.share(of: $0) == nil }
            for range in RecordBatches.indices(0..<others.count) {
                try stratus.save(others[range].map { data.zone.record($0) }, in: root.zone)
            }
            try count("W8 the feed after \(others.count) unseen changes") {
                _ = try server.readFeed(of: zone, after: reading.token, as: guest.caller)
            }
        }
    }

    private func countQueries(_ server: ServerSide) throws {
        try count("W10 build the indexes of 10,000 records") {
            try SizeQueries.buildIndexes(of: data.zone, in: StratusSide.mainZone, server)
        }
        for (subject, request) in SizeQueries.requests(data.zone, in: StratusSide.mainZone) {
            func ask() throws {
                let page = try server.service.query(request, as: server.owner, in: .private).records
                guard page.count == SizeQueries.resultCount else { throw WorkloadError("A page is not whole.") }
                for match in page { try ServerSide.takeOut(match.get()) }
            }
            try ask()
            try count("W10 \(subject)") { try ask() }
        }
    }

    private func countPermissions(_ stratus: StratusSide, _ server: ServerSide) throws {
        let fan = FanZoneData(depth: 10, leafCount: 500)
        let id = StratusSide.zone(ZoneName(FanZoneData.name))
        try stratus.load(fan.zone, into: id)
        let guests = try (0..<100).map { try server.guest("participant-\($0)") }
        let url = try server.share(fan.zone.record(fan.top), in: ZoneAddress(zoneName: id.name.text), with: guests)
        for guest in guests { try server.accept(url, by: guest) }
        let names = fan.leaves.map { fan.zone.names[$0] }
        for pass in ["for the first time", "again"] {
            try count("W12 may somebody write 500 records, \(pass)") {
                let answers = try server.service.permissions(for: names, in: id, of: guests[50].account.userName)
                guard answers.allSatisfy({ $0 == [.read, .write] }) else {
                    throw WorkloadError("A guest may not write.")
                }
            }
        }
    }
}
