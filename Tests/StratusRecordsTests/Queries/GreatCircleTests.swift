// Distances on the Earth, compared with known values for degrees and meridians.

import Foundation
import StratusModel
import Testing

@Suite struct GreatCircleTests {
    private func place(_ latitude: Double, _ longitude: Double) -> Location {
        Location(
            latitudeDegrees: latitude, longitudeDegrees: longitude, timestamp: Date(timeIntervalSinceReferenceDate: 0))
    }

    @Test("[Q-13] a degree of latitude is 111.2 kilometres anywhere, one of longitude only at the equator")
    func degrees() throws {
        let degree = GreatCircle.earthRadiusMetres * .pi / 180
        let exact = GreatCircle.haversine(ofMetres: degree)
        for latitude in [-89.0, -30, 0, 51, 88] {
            let found = try #require(GreatCircle.haversine(from: place(latitude, 7), to: place(latitude + 1, 7)))
            #expect(abs(found - exact) < exact * 1e-9, "\(latitude)")
        }
        let equator = try #require(GreatCircle.haversine(from: place(0, 7), to: place(0, 8)))
        #expect(abs(equator - exact) < exact * 1e-9)
        let north = try #require(GreatCircle.haversine(from: place(60, 7), to: place(60, 8)))
        #expect(abs(north - exact / 4) < exact * 1e-4)
    }

    @Test("a location beyond a pole or the 180th meridian is invalid, and has no distance")
    func noPlaces() {
        #expect(place(90, 180).isOnEarth)
        #expect(!place(90.1, 0).isOnEarth)
        #expect(!place(-90.1, 0).isOnEarth)
        #expect(!place(0, 180.1).isOnEarth)
        #expect(GreatCircle.haversine(from: place(0, 0), to: place(91, 0)) == nil)
    }

    @Test("a circle that contains a pole reaches around the Earth, and one near it does not")
    func poles() {
        #expect(GreatCircle.longitudeReachDegrees(latitudeDegrees: 89, radiusDegrees: 2) == 180)
        #expect(GreatCircle.longitudeReachDegrees(latitudeDegrees: -89, radiusDegrees: 2) == 180)
        // More than half of the way to the other side, so that its sine is small again.
        #expect(GreatCircle.longitudeReachDegrees(latitudeDegrees: 0, radiusDegrees: 170) == 180)
        #expect(GreatCircle.longitudeReachDegrees(latitudeDegrees: 0, radiusDegrees: 2) < 2.1)
        #expect(GreatCircle.longitudeReachDegrees(latitudeDegrees: 60, radiusDegrees: 2) < 5)
    }
}
