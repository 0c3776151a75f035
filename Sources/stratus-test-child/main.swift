// A process of its own for tests: holds a store, or opens one without privileges. Not a product.
//
//   stratus-test-child hold DIRECTORY      opens the store, prints "open", and waits until its input ends
//   stratus-test-child private FOLDER      makes a private directory there, prints "made", and waits until its input ends
//   stratus-test-child nobody DIRECTORY    gives up root, opens the store without creating it, prints how it went

import Glibc
import StratusLevelDB
import StratusStore

func say(_ line: String) {
    print(line)
    fflush(nil)
}

func open(_ path: String) -> LevelDBStore? {
    var options = LevelDBOptions()
    options.createIfMissing = false
    do {
        return try LevelDBStore.open(at: path, options: options)
    } catch {
        say("\(error)")
        return nil
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    say("usage: stratus-test-child hold|private|nobody DIRECTORY")
    exit(64)
}
switch arguments[1] {
case "hold":
    guard let store = open(arguments[2]) else { exit(1) }
    say("open")
    while readLine() != nil {}
    store.close()
case "private":
    guard let directory = try? PrivateDirectory.make(in: arguments[2], prefix: "work-") else { exit(1) }
    say("made")
    while readLine() != nil {}
    directory.remove()
case "nobody":
    guard setgid(65_534) == 0, setuid(65_534) == 0 else {
        say("cannot give up root")
        exit(77)
    }
    guard let store = open(arguments[2]) else { exit(1) }
    store.close()
    say("open")
default:
    exit(64)
}
