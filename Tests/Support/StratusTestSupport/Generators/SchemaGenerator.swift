// Random schemas: names that are keywords, quoted names, every type and every set of indexes and permissions.

package import StratusModel

/// Draws schemas from a generator.
package enum SchemaGenerator {
    private static let names = [
        "a", "B", "title", "CD_name", "grant", "GRANT", "type", "list", "Record", "to", "x1", "_y", "sortable",
        "cloudkit.title", "with space", "\u{E9}", "e\u{301}", "1", "a-b", "//", "/*", "--", ";", "(",
    ]

    package static func name(_ random: inout SplitMix64) -> String {
        random.element(of: names) + (random.isOne(in: 3) ? "\(random.below(100))" : "")
    }

    package static func fieldType(_ random: inout SplitMix64) -> FieldType {
        let scalar = random.element(of: ScalarType.allCases)
        return FieldType(
            scalar, isList: random.isOne(in: 3), isEncrypted: scalar.canBeEncrypted && random.isOne(in: 4))
    }

    package static func recordType(_ name: String, _ random: inout SplitMix64) -> RecordTypeSchema {
        var type = RecordTypeSchema(name: RecordType(name))
        for _ in 0..<random.below(8) {
            let fieldType = fieldType(&random)
            let indexes = fieldType.isEncrypted ? [] : FieldIndexes(rawValue: UInt8(random.below(8)))
            type.fields[FieldKey(self.name(&random))] = FieldSchema(fieldType, indexes: indexes)
        }
        for (key, scalar) in SystemFieldName.types.sorted(by: { $0.key < $1.key }) where random.isOne(in: 4) {
            type.fields[key] = FieldSchema(
                FieldType(scalar), indexes: FieldIndexes(rawValue: UInt8(1 + random.below(7))))
        }
        for _ in 0..<random.below(4) {
            let role = random.element(of: [.creator, .anyUser, .world, RoleName(self.name(&random))])
            type.grants[role] = TypePermissions(rawValue: UInt8(1 + random.below(7)))
        }
        return type
    }

    package static func schema(_ random: inout SplitMix64) -> ContainerSchema {
        var schema = ContainerSchema()
        for _ in 0..<random.below(5) {
            let type = recordType(name(&random), &random)
            schema.types[type.name] = type
        }
        for _ in 0..<random.below(3) { schema.roles.insert(RoleName(name(&random))) }
        return schema
    }
}
