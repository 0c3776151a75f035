// What every refusal of sharing says, in words and as values: the rule that is broken, the record, the root and the share in
// the way. What the caller may not know of is named by nobody: the answers to those who may not know that there is
// a share (M-04, M-05) are no refusals of sharing.

import StratusModel

extension CloudError {
    /// The refusal with what X-02 wants beside its own words. What it says already stays.
    func ofSharing(
        rule: String, record: String? = nil, root: String? = nil, share: String? = nil
    ) -> CloudError {
        var error = self
        let named = ["record": record, "root": root, "share": share]
        error.fields.merge(named.compactMapValues { $0 }) { own, _ in own }
        let rule = error.fields["rule"] ?? rule
        error.fields["rule"] = rule
        var words = ["record", "root", "share"].compactMap { key in error.fields[key].map { "\(key) \($0)" } }
        if !message.contains(rule) { words.insert("rule \(rule)", at: 0) }
        if !words.isEmpty { error.message += " (" + words.joined(separator: ", ") + ")" }
        return error
    }
}
