// The fuzzer of everything that is decoded below the face: damaged bytes for each decoder of `FuzzTarget.all`.

import ArgumentParser
import StratusTestSupport

private enum Decoders: FuzzTargets {
    static let commandName = "stratus-fuzz"
    static let all = FuzzTarget.all
}

FuzzCommand<Decoders>.main()
