// What `import CoreLocation` means where Apple's framework is not: the location types that records can hold, with their
// names for numbers, nothing else of Stratus, and Foundation, which Apple's module brings along.

@_exported public import Foundation
@_exported public import class StratusKit.CLLocation
@_exported public import typealias StratusKit.CLLocationAccuracy
@_exported public import struct StratusKit.CLLocationCoordinate2D
@_exported public import func StratusKit.CLLocationCoordinate2DIsValid
@_exported public import func StratusKit.CLLocationCoordinate2DMake
@_exported public import typealias StratusKit.CLLocationDegrees
@_exported public import typealias StratusKit.CLLocationDirection
@_exported public import typealias StratusKit.CLLocationDistance
@_exported public import typealias StratusKit.CLLocationSpeed
@_exported public import let StratusKit.kCLLocationCoordinate2DInvalid
