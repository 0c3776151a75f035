// Locations, as far as records need them: Linux has no Core Location.
//
// Invariant: a location is immutable.

public import Foundation
package import StratusModel

/// A latitude, a longitude or a part of one, in degrees.
public typealias CLLocationDegrees = Double
/// A distance in metres.
public typealias CLLocationDistance = Double
/// An accuracy in metres.
public typealias CLLocationAccuracy = Double
/// A direction in degrees from north, clockwise.
public typealias CLLocationDirection = Double
/// A speed in metres a second.
public typealias CLLocationSpeed = Double

/// A latitude and a longitude, in degrees.
public struct CLLocationCoordinate2D: Sendable {
    /// Northern latitudes are positive.
    public var latitude: CLLocationDegrees
    /// Eastern longitudes are positive.
    public var longitude: CLLocationDegrees

    /// The point where the equator meets the prime meridian.
    public init() { self.init(latitude: 0, longitude: 0) }

    /// A coordinate.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A coordinate that is not on Earth.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// Whether a coordinate is on Earth.
public func CLLocationCoordinate2DIsValid(_ coordinate: CLLocationCoordinate2D) -> Bool {
    abs(coordinate.latitude) <= 90 && abs(coordinate.longitude) <= 180
}

/// A coordinate, by the function that older clients call.
public func CLLocationCoordinate2DMake(
    _ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}

/// A location with the accuracy that a device reports for it. Two are equal by value.
public final class CLLocation: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The latitude and longitude.
    public let coordinate: CLLocationCoordinate2D
    /// In metres.
    public let altitude: CLLocationDistance
    /// In metres; negative if the coordinate is unknown.
    public let horizontalAccuracy: CLLocationAccuracy
    /// In metres; negative if the altitude is unknown.
    public let verticalAccuracy: CLLocationAccuracy
    /// In degrees from north; negative if unknown.
    public let course: CLLocationDirection
    /// In metres a second; negative if unknown.
    public let speed: CLLocationSpeed
    /// When the location was measured.
    public let timestamp: Date

    /// A location with everything that a device reports.
    public init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed, timestamp: Date
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
        super.init()
    }

    /// A location without direction and speed.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: verticalAccuracy, course: -1, speed: -1, timestamp: timestamp)
    }

    /// A location at the current time, without altitude.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
            horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date())
    }

    /// The distance to another location along the surface of the Earth, in metres. It is computed on a sphere with the
    /// Earth's mean radius; the error is at most half a per cent.
    public func distance(from location: CLLocation) -> CLLocationDistance {
        let earthRadiusMetres = 6_371_008.8
        let (here, there) = (coordinate, location.coordinate)
        let latitudes = (here.latitude * .pi / 180, there.latitude * .pi / 180)
        let northward = (latitudes.1 - latitudes.0) / 2
        let eastward = (there.longitude - here.longitude) * .pi / 360
        let haversine = pow(sin(northward), 2) + cos(latitudes.0) * cos(latitudes.1) * pow(sin(eastward), 2)
        return 2 * earthRadiusMetres * asin(min(1, haversine.squareRoot()))
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLLocation else { return false }
        return self === other || archivedNumbers == other.archivedNumbers
    }

    public override var hash: Int { archivedNumbers.hashValue }

    public override var description: String {
        let place = "<\(coordinate.latitude),\(coordinate.longitude)> +/- \(horizontalAccuracy)m"
        return "\(place) (speed \(speed) mps / course \(course)) @ \(timestamp)"
    }

    /// The number of values in `archivedNumbers`.
    static let archivedNumberCount = 8

    /// All values of the location, in the order of archives.
    var archivedNumbers: [Double] {
        [
            coordinate.latitude, coordinate.longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed,
            timestamp.timeIntervalSinceReferenceDate,
        ]
    }

    /// A location from these values. Returns nil if their number is wrong.
    convenience init?(archivedNumbers numbers: [Double]) {
        guard numbers.count == Self.archivedNumberCount else { return nil }
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: numbers[0], longitude: numbers[1]), altitude: numbers[2],
            horizontalAccuracy: numbers[3], verticalAccuracy: numbers[4], course: numbers[5], speed: numbers[6],
            timestamp: Date(timeIntervalSinceReferenceDate: numbers[7]))
    }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CLLocation"] }

    /// Archives the location.
    public func encode(with coder: NSCoder) {
        for (part, number) in zip(Self.archivedParts, archivedNumbers) { coder.encode(number, forKey: part.key) }
    }

    /// Decodes a location. Returns nil if a coordinate is missing.
    public convenience init?(coder: NSCoder) {
        self.init(
            archivedNumbers: Self.archivedParts.compactMap {
                coder.decodeNumberIfPresent(forKey: $0.key) ?? $0.missing
            })
    }

    /// The keys of `archivedNumbers` in order, and the value of a number that an archive lacks. A coordinate has none.
    private static let archivedParts: [(key: String, missing: Double?)] = [
        ("kCLLocationCodingKeyCoordinateLatitude", nil), ("kCLLocationCodingKeyCoordinateLongitude", nil),
        ("kCLLocationCodingKeyAltitude", 0), ("kCLLocationCodingKeyHorizontalAccuracy", 0),
        ("kCLLocationCodingKeyVerticalAccuracy", -1), ("kCLLocationCodingKeyCourse", -1),
        ("kCLLocationCodingKeySpeed", -1), ("kCLLocationCodingKeyTimestamp", 0),
    ]

    // Conversion to and from the server's type.

    package convenience init(_ location: Location) {
        self.init(
            coordinate: CLLocationCoordinate2D(
                latitude: location.latitudeDegrees, longitude: location.longitudeDegrees),
            altitude: location.altitudeMetres, horizontalAccuracy: location.horizontalAccuracyMetres,
            verticalAccuracy: location.verticalAccuracyMetres, course: location.courseDegrees,
            speed: location.speedMetresPerSecond, timestamp: location.timestamp)
    }

    var location: Location {
        Location(
            latitudeDegrees: coordinate.latitude, longitudeDegrees: coordinate.longitude, altitudeMetres: altitude,
            horizontalAccuracyMetres: horizontalAccuracy, verticalAccuracyMetres: verticalAccuracy,
            courseDegrees: course, speedMetresPerSecond: speed, timestamp: timestamp)
    }
}
