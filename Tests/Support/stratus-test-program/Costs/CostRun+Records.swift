// W1, W2, W3 and W6: records saved, fetched, asked for their share, and enumerated.

import StratusModel
import StratusRecords
import StratusWorkloads

extension CostRun {
    func countRecords() throws {
        let stratus = try StratusSide(at: folder + "/stratus", options: Self.options)
        self.stratus = stratus
        server = try ServerSide(stratus)
        try stratus.createZone(StratusSide.mainZone)
        let batches = RecordBatches.indices(of: data.zone).map { $0.map { data.zone.record($0) } }
        try count("W1 load 10,000 records, 400 a commit") {
            for batch in batches { try stratus.save(batch, in: StratusSide.mainZone) }
        }
        let names = randomNames(500)
        for pass in ["for the first time", "again", "once more"] {
            try count("W2 fetch 500 records, \(pass)") { try StratusSide.fetch(stratus.engine, names) }
        }
        try countShareLookups(stratus)
        let top = data.zone.names[data.subtreeTop]
        try count("W6 enumerate a subtree of 1,000") {
            guard try stratus.subtreeCount(below: top) == 999 else { throw WorkloadError("A subtree is not whole.") }
        }
    }

    private func countShareLookups(_ stratus: StratusSide) throws {
        for depth in [0, 1, 4, 10, 20, 50, 1_000] {
            let targets = data.zone.forest.sample(atDepth: depth, limit: 10, seed: 3).map { data.zone.names[$0] }
            guard !targets.isEmpty else { throw WorkloadError("There is no record at depth \(depth).") }
            let questions = "W3 the shares of \(targets.count) records at depth \(depth)"
            try count(questions + ", no cache") { try StratusSide.askShares(stratus.uncached, targets) }
            try StratusSide.askShares(stratus.engine, targets)
            try count(questions + ", again") { try StratusSide.askShares(stratus.engine, targets) }
        }
    }

    func randomNames(_ count: Int) -> [RecordName] {
        var numbers = SeededNumbers(seed: 2)
        return (0..<count).map { _ in data.zone.names[numbers.below(data.zone.count)] }
    }
}
