// Makes `import CoreLocation` work where Apple's framework is missing: exports the location types that records can hold
// and their names for numbers, nothing else of Stratus, and Foundation, as Apple's module does.

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
