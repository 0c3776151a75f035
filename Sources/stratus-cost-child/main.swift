// A process that runs every workload of the benchmarks once, small and always the same, and prints what each pass costs, as
// JSON. A process of its own, because allocations are counted for all of it. Not a product.
//
//   SWIFT_DETERMINISTIC_HASHING=1 stratus-cost-child DIRECTORY [reads|entries|allocations]
//
// The last argument plants a cost in every pass, for the tests of whoever is to notice.

import Foundation

let arguments = CommandLine.arguments
guard arguments.count == 2 || arguments.count == 3 && CostPlant(rawValue: arguments[2]) != nil else {
    FileHandle.standardError.write(Data("usage: stratus-cost-child DIRECTORY [reads|entries|allocations]\n".utf8))
    exit(64)
}
do {
    let run = CostRun(folder: arguments[1], plant: arguments.count == 3 ? CostPlant(rawValue: arguments[2]) : nil)
    try run.countRecords()
    try run.countSharing()
    try run.countCommits()
    try run.countEnds()
    FileHandle.standardOutput.write(try JSONEncoder().encode(run.costs))
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
