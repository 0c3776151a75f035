// The ways in which programs read and write the fields of a record. None of them may cost a warning.

import CloudKit
import CoreLocation

/// A recipe, as in an app's model.
struct Recipe {
    /// The course of a menu.
    enum Course: String {
        case starter, main, dessert
    }

    /// The keys of the fields.
    enum Key: String {
        case title, course, minutes, rating, isVegan, tags, published, photo, origin, cook, notes
    }

    var title: String
    var course: Course = .main
    var minutes: Int?
    var rating: Double = 0
    var isVegan = false
    var tags: [String] = []
    var published: Date?
    var photoURL: URL?
    var origin: CLLocation?
    var cookID: CKRecord.ID?
    var notes: String?

    init(title: String) {
        self.title = title
    }
}

extension CKRecord {
    /// A subscript with an app's own keys.
    subscript(key: Recipe.Key) -> CKRecordValue? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }
}

extension Recipe {
    /// Writes with the typed subscripts.
    func write(to record: CKRecord) {
        record["title"] = title
        record["course"] = course.rawValue
        record["minutes"] = minutes
        record["rating"] = rating
        record["isVegan"] = isVegan
        record["tags"] = tags
        record["steps"] = ["peel", "cook", "serve"]
        record["published"] = published
        record["photo"] = photoURL.map { CKAsset(fileURL: $0) }
        record["origin"] = origin
        record["cook"] = cookID.map { CKRecord.Reference(recordID: $0, action: .none) }
        record.encryptedValues["notes"] = notes
        record["obsolete"] = nil
    }

    /// Writes like programs from before Swift's typed subscripts.
    func writeLegacy(to record: CKRecord) {
        record.setObject(title as CKRecordValue, forKey: "title")
        record.setObject(course.rawValue as NSString, forKey: "course")
        record.setObject(minutes as CKRecordValue?, forKey: "minutes")
        record["rating"] = rating as CKRecordValue
        record["rating"] = NSNumber(value: rating)
        record["isVegan"] = isVegan as NSNumber
        record["tags"] = tags as CKRecordValue
        record["tags"] = tags as NSArray
        record["published"] = published as CKRecordValue?
        record["published"] = published as NSDate?
        record[.notes] = notes as CKRecordValue?
        record.setValue(title, forKey: "title")
        record.setValuesForKeys(["title": title, "rating": rating])
    }

    /// Reads with casts.
    init?(_ record: CKRecord) {
        guard let title = record["title"] as? String else { return nil }
        self.init(title: title)
        course = (record["course"] as? String).flatMap(Course.init(rawValue:)) ?? .main
        minutes = record["minutes"] as? Int
        rating = record["rating"] as? Double ?? 0
        isVegan = (record["isVegan"] as? NSNumber)?.boolValue ?? false
        tags = record["tags"] as? [String] ?? []
        published = record["published"] as? Date
        photoURL = (record["photo"] as? CKAsset)?.fileURL
        origin = record["origin"] as? CLLocation
        cookID = (record["cook"] as? CKRecord.Reference)?.recordID
        notes = record.encryptedValues["notes"] as? String
    }

    /// Reads with types.
    init?(typed record: CKRecord) {
        guard let title: String = record["title"] else { return nil }
        self.init(title: title)
        minutes = record["minutes"]
        rating = record["rating"] ?? 0
        isVegan = record["isVegan"] ?? false
        tags = record["tags"] ?? []
        published = record["published"]
        let photo: CKAsset? = record["photo"]
        photoURL = photo?.fileURL
        origin = record["origin"]
        let cook: CKRecord.Reference? = record["cook"]
        cookID = cook?.recordID
        notes = record.encryptedValues["notes"]
    }
}

/// Common operations on whole records.
enum RecordHabits {
    /// Copies what the client changed onto the server's record, to resolve a conflict.
    static func merge(_ error: Error) -> CKRecord? {
        guard let error = error as? CKError, error.code == .serverRecordChanged,
            let server = error.serverRecord, let client = error.clientRecord
        else { return nil }
        for key in client.changedKeys() {
            server[key] = client[key]
        }
        return server
    }

    /// Keeps a record's system fields with the app's own data.
    static func archive(_ record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    /// Creates a record from them again.
    static func unarchive(_ data: Data) -> CKRecord? {
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return CKRecord(coder: coder)
    }

    /// Returns the items that failed.
    static func failures(of error: Error) -> [String] {
        do {
            throw error
        } catch CKError.zoneNotFound, CKError.userDeletedZone {
            return ["no zone"]
        } catch let error as CKError where error.code == .partialFailure {
            let errors = error.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: Error] ?? [:]
            return errors.map { "\($0.key.recordName): \($0.value.localizedDescription)" }.sorted()
        } catch {
            let error = error as NSError
            return error.domain == CKErrorDomain ? ["\(error.code)"] : ["\(error.domain) \(error.code)"]
        }
    }

    /// Describes every field.
    static func lines(of record: CKRecord) -> [String] {
        var lines: [String] = []
        for (key, value) in record {
            switch value {
            case let text as String: lines.append("\(key): \(text)")
            case let number as NSNumber: lines.append("\(key): \(number)")
            case let list as [String]: lines.append("\(key): \(list.joined(separator: ", "))")
            default: lines.append("\(key): \(value)")
            }
        }
        return lines
    }
}
