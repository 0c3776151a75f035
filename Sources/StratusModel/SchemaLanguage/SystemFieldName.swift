// The fields every record has without its owner's doing. A schema names them to give them indexes.

/// The names of system fields in schemas, with their types.
package enum SystemFieldName {
    package static let types: [FieldKey: ScalarType] = [
        "___createTime": .timestamp, "___createdBy": .reference, "___etag": .string, "___modTime": .timestamp,
        "___modifiedBy": .reference, "___recordID": .reference,
    ]
}
