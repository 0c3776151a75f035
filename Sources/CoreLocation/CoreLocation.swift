// What `import CoreLocation` means where Apple's framework is not: the location types that records can hold.

@_exported public import StratusKit
