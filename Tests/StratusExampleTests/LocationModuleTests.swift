// What a file sees that imports only the location module of Apple's.

import CoreLocation
import Testing

@Suite("CoreLocation alone")
struct LocationModuleTests {
    @Test("import CoreLocation alone brings the location types and Foundation")
    func bringsFoundation() {
        let date = Date(timeIntervalSinceReferenceDate: 1)
        let location = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 3, horizontalAccuracy: 4,
            verticalAccuracy: 5, timestamp: date)
        #expect(location.timestamp == date)
    }
}
