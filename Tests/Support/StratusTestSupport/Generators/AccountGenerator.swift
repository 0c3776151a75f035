// Random accounts with edge cases in every part: missing, empty, long, or with several spellings.

package import StratusLayout
package import StratusModel

/// Draws accounts from a generator.
package enum AccountGenerator {
    package static func account(_ random: inout SplitMix64) -> StoredAccount {
        var account = StoredAccount(
            id: AccountID(RecordGenerator.text(&random)), externalID: optionalText(&random),
            userName: UserName(RecordGenerator.text(&random)), created: RecordGenerator.date(&random))
        for _ in 0..<random.below(4) {
            let text = RecordGenerator.text(&random)
            account.handles.insert(random.isOne(in: 2) ? .email(text) : .phone(text))
        }
        account.name = PersonName(
            prefix: optionalText(&random), given: optionalText(&random), middle: optionalText(&random),
            family: optionalText(&random), suffix: optionalText(&random), nickname: optionalText(&random))
        account.standing = random.element(of: AccountStanding.allCases)
        account.isDiscoverable = random.isOne(in: 2)
        account.quotaByteCount = random.isOne(in: 2) ? nil : Int64(bitPattern: RecordGenerator.number(&random))
        return account
    }

    package static func entry(_ random: inout SplitMix64) -> AccountEntry { AccountEntry(account(&random)) }

    private static func optionalText(_ random: inout SplitMix64) -> String? {
        random.isOne(in: 2) ? nil : RecordGenerator.text(&random)
    }
}
