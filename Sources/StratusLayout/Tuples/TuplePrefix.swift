// Ranges of keys that share a prefix.

/// The smallest key greater than every key that begins with `prefix`; nil when there is none (no bytes, or only 0xFF).
///
/// Encodings are prefix-free, so for a `prefix` made of whole elements the keys from `prefix` up to this bound are
/// exactly the tuples that begin with those elements.
package func prefixUpperBound(of prefix: [UInt8]) -> [UInt8]? {
    guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return nil }
    var bound = Array(prefix[...last])
    bound[last] += 1
    return bound
}
