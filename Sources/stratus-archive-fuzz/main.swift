// The fuzzer of archives from clients that a host does not trust. It stands apart because the face takes minutes to be built
// optimised: `make fuzz` builds it, a change's checks run the target in debug.

import ArgumentParser
import StratusTestSupport

private enum Decoders: FuzzTargets {
    static let commandName = "stratus-archive-fuzz"
    static let all = [FuzzTarget.archive]
}

FuzzCommand<Decoders>.main()
