// The command-line tool begins here, on the main thread: the store's calls block, so nothing runs on the cooperative
// pool.

import CStratusSystem

cfiletree_begin_process()
StratusCommand.run(arguments: Array(CommandLine.arguments.dropFirst()))
