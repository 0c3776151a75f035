// A note, and its form as a record.

import CloudKit

/// What the user sees of a note.
public struct Note: Equatable, Sendable {
    /// What the record is named by.
    public var id: String
    /// One line.
    public var title: String
    /// The text, which is encrypted.
    public var body: String
    /// Words to find it by.
    public var tags: [String]
    /// Whether it stays at the top.
    public var isPinned: Bool
    /// Where it was written.
    public var place: CLLocationCoordinate2D?

    /// A note.
    public init(
        id: String = CKRecord.ID().recordName, title: String, body: String = "", tags: [String] = [],
        isPinned: Bool = false, place: CLLocationCoordinate2D? = nil
    ) {
        self.id = id
        self.title = title
        self.body = body
        self.tags = tags
        self.isPinned = isPinned
        self.place = place
    }

    /// Compares everything the user sees.
    public static func == (left: Note, right: Note) -> Bool {
        left.id == right.id && left.title == right.title && left.body == right.body && left.tags == right.tags
            && left.isPinned == right.isPinned && left.place?.latitude == right.place?.latitude
            && left.place?.longitude == right.place?.longitude
    }
}

extension Note {
    static let recordType = "Note"

    enum Key {
        static let title = "title"
        static let body = "body"
        static let tags = "tags"
        static let isPinned = "isPinned"
        static let place = "place"
    }

    init(_ record: CKRecord) {
        id = record.recordID.recordName
        title = record[Key.title] as? String ?? ""
        body = record.encryptedValues[Key.body] ?? ""
        tags = record[Key.tags] ?? []
        isPinned = record[Key.isPinned] ?? false
        place = (record[Key.place] as? CLLocation)?.coordinate
    }

    /// Sets the values that differ, so that only they are sent.
    func write(to record: CKRecord) {
        let stored = Note(record)
        if record[Key.title] == nil || stored.title != title { record[Key.title] = title as CKRecordValue }
        if stored.body != body { record.encryptedValues[Key.body] = body }
        if stored.tags != tags { record[Key.tags] = tags }
        if record[Key.isPinned] == nil || stored.isPinned != isPinned { record[Key.isPinned] = isPinned }
        guard stored.place?.latitude != place?.latitude || stored.place?.longitude != place?.longitude else { return }
        record[Key.place] = place.map { CLLocation(latitude: $0.latitude, longitude: $0.longitude) }
    }
}
