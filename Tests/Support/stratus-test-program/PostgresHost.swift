// A host of a store on a PostgreSQL server, in a process of its own, which tests kill and pause.

import StratusPostgres
import StratusStore

/// Opens the store at an address, and adds one to the number under [1] until it cannot. Prints each number after its
/// commit, and at the end the code of the error.
func countOnServer(_ url: String) {
    do {
        let options = PostgresOptions { .random(in: 0 ... .max) }
        let store = try PostgresStore.open(url: url, options: options).store
        while true {
            let number = try store.transact(lane: StoreLane(name: [1])) { transaction in
                let old = try transaction.value(forKey: [1]) ?? []
                let number = old.reduce(0) { $0 << 8 | Int($1) } + 1
                try transaction.set([1], to: [UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)])
                return number
            }
            say("\(number)")
        }
    } catch let error as StoreError {
        say("\(error.code)")
    } catch {
        say("\(error)")
    }
}
