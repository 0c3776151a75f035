// Places between client and server.

import StratusModel

extension CLLocation {
    convenience init(_ location: Location) {
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
