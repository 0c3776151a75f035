// Values of fields as CloudKit's records hold them.

import Foundation
import StratusKit
import StratusModel

extension FieldValue {
    /// The value as a client sets it. Throws `usage` for an asset, whose content is a file.
    func clientValue(in client: ZoneClient) throws -> any CKRecordValue {
        switch self {
        case .string(let text): return text
        case .int64(let number): return number
        case .double(let number): return number
        case .date(let date): return date
        case .bytes(let bytes): return Data(bytes)
        case .location(let place):
            return CLLocation(
                coordinate: CLLocationCoordinate2D(
                    latitude: place.latitudeDegrees, longitude: place.longitudeDegrees),
                altitude: place.altitudeMetres, horizontalAccuracy: place.horizontalAccuracyMetres,
                verticalAccuracy: place.verticalAccuracyMetres, course: place.courseDegrees,
                speed: place.speedMetresPerSecond, timestamp: place.timestamp)
        case .reference(let reference):
            return CKRecord.Reference(
                recordID: client.recordID(reference.target),
                action: reference.action == .deleteSelf ? .deleteSelf : .none)
        case .asset: throw ToolError(.usage, "An asset is set by its file: KEY:asset=FILE.")
        case .list(let items): return try items.map { try $0.clientValue(in: client) }
        }
    }
}
