// Counts the costs of all workloads. It needs a process of its own, because allocations are counted for all of it, and
// SWIFT_DETERMINISTIC_HASHING=1, so that every run counts the same.

import Foundation
import StratusWorkloads

/// Runs every workload and prints its costs as JSON. The second argument plants a cost, to test that it is detected.
func countCosts(_ arguments: [String]) -> Never {
    guard let folder = arguments.first, arguments.count == 1 || CostPlant(rawValue: arguments[1]) != nil else {
        FileHandle.standardError.write(Data("usage: costs DIRECTORY [reads|entries|allocations]\n".utf8))
        exit(64)
    }
    do {
        let run = CostRun(folder: folder, plant: arguments.count == 2 ? CostPlant(rawValue: arguments[1]) : nil)
        try run.countRecords()
        try run.countSharing()
        try run.countCommits()
        try run.countEnds()
        FileHandle.standardOutput.write(try JSONEncoder().encode(run.costs))
        exit(0)
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(1)
    }
}
