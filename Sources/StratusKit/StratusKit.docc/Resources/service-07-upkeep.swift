var options = Stratus.Options()
options.upkeepIntervalSeconds = nil  // nothing in the background
let cloud = try Stratus.open(at: directory, options: options)
try cloud.performUpkeep()  // blocks: call it on a thread of your own
