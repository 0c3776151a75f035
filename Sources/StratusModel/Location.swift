// Places on Earth, and distances between them on a sphere of the Earth's mean radius, which errs by at most half a per
// cent.
//
// Results of queries, their order and the cells of indexes depend on these numbers. So they use only additions,
// multiplications and divisions, which give the same bits on every machine; libraries of mathematics differ.

package import FoundationEssentials

/// A place on Earth with the accuracy a device reports for it.
package struct Location: Hashable, Codable, Sendable {
    package var latitudeDegrees: Double
    package var longitudeDegrees: Double
    package var altitudeMetres: Double
    package var horizontalAccuracyMetres: Double
    package var verticalAccuracyMetres: Double
    package var courseDegrees: Double
    package var speedMetresPerSecond: Double
    package var timestamp: Date

    package init(
        latitudeDegrees: Double, longitudeDegrees: Double, altitudeMetres: Double = 0,
        horizontalAccuracyMetres: Double = 0, verticalAccuracyMetres: Double = -1, courseDegrees: Double = -1,
        speedMetresPerSecond: Double = -1, timestamp: Date
    ) {
        self.latitudeDegrees = latitudeDegrees
        self.longitudeDegrees = longitudeDegrees
        self.altitudeMetres = altitudeMetres
        self.horizontalAccuracyMetres = horizontalAccuracyMetres
        self.verticalAccuracyMetres = verticalAccuracyMetres
        self.courseDegrees = courseDegrees
        self.speedMetresPerSecond = speedMetresPerSecond
        self.timestamp = timestamp
    }

    /// Whether latitude and longitude are those of a place on Earth.
    package var isOnEarth: Bool { abs(latitudeDegrees) <= 90 && abs(longitudeDegrees) <= 180 }
}

/// Angles and distances between places.
package enum GreatCircle {
    package static let earthRadiusMetres = 6_371_008.8
    private static let radiansPerDegree = Double.pi / 180

    /// The haversine of the angle between two places: a number from 0 to 1 that grows with their distance. Nil if one
    /// of them is not on Earth.
    package static func haversine(from one: Location, to other: Location) -> Double? {
        guard one.isOnEarth, other.isOnEarth else { return nil }
        let northward = sine((other.latitudeDegrees - one.latitudeDegrees) / 2 * radiansPerDegree)
        let eastward = sine((other.longitudeDegrees - one.longitudeDegrees) / 2 * radiansPerDegree)
        let latitudes =
            cosine(one.latitudeDegrees * radiansPerDegree) * cosine(other.latitudeDegrees * radiansPerDegree)
        return min(1, northward * northward + latitudes * eastward * eastward)
    }

    /// The haversine of a distance. More than 1 beyond the other side of the Earth, less than 0 for a negative
    /// distance.
    package static func haversine(ofMetres metres: Double) -> Double {
        guard metres > 0 else { return metres == 0 ? 0 : -1 }
        let half = metres / earthRadiusMetres / 2
        guard half <= .pi / 2 else { return 2 }
        let sine = sine(half)
        return sine * sine
    }

    /// A distance in degrees of latitude.
    package static func degrees(ofMetres metres: Double) -> Double { metres / earthRadiusMetres / radiansPerDegree }

    /// How far a circle extends to the east and west of its centre, in degrees: 180 if it contains a pole.
    package static func longitudeReachDegrees(latitudeDegrees: Double, radiusDegrees: Double) -> Double {
        guard abs(latitudeDegrees) + radiusDegrees < 89.999 else { return 180 }
        let ratio = sine(radiusDegrees * radiansPerDegree) / cosine(latitudeDegrees * radiansPerDegree)
        guard ratio < 1 else { return 180 }
        // Bisect for the angle with this sine, and return the upper bound.
        var (low, high) = (0.0, Double.pi / 2)
        for _ in 0..<50 {
            let middle = (low + high) / 2
            if sine(middle) < ratio { low = middle } else { high = middle }
        }
        return high / radiansPerDegree
    }

    /// The sine of an angle of a few turns at most.
    static func sine(_ radians: Double) -> Double {
        let (quarter, rest) = quarters(radians)
        switch quarter {
        case 0: return sineSeries(rest)
        case 1: return cosineSeries(rest)
        case 2: return -sineSeries(rest)
        default: return -cosineSeries(rest)
        }
    }

    static func cosine(_ radians: Double) -> Double { sine(radians + .pi / 2) }

    /// The nearest multiple of a quarter turn, and the rest of the angle: at most an eighth of a turn.
    private static func quarters(_ radians: Double) -> (quarter: Int, rest: Double) {
        let count = (radians / (.pi / 2)).rounded()
        let turns = count - (count / 4).rounded(.down) * 4
        return (Int(turns) & 3, radians - count * (.pi / 2))
    }

    private static func sineSeries(_ angle: Double) -> Double {
        series(of: angle, from: angle, stride(from: 2, through: 18, by: 2))
    }

    private static func cosineSeries(_ angle: Double) -> Double {
        series(of: angle, from: 1, stride(from: 1, through: 19, by: 2))
    }

    /// The sum of a first term and of those that follow from it.
    private static func series(of angle: Double, from first: Double, _ indexes: StrideThrough<Double>) -> Double {
        let square = angle * angle
        var (term, sum) = (first, first)
        for index in indexes {
            term *= -square / (index * (index + 1))
            sum += term
        }
        return sum
    }
}
