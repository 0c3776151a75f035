var options = Stratus.Options()
options.upkeepIntervalSeconds = nil  // nothing in the background
let cloud = try await Stratus.open(at: directory, options: options)
try await cloud.performUpkeep()  // returns when everything is done
