// Metrics in memory, and as the text that Prometheus reads. swift-metrics says what is measured; this is one of the
// places where it can go.
//
// A metric is identified by its name and its dimensions: creating it again returns the same one, and it stays until the
// process ends. So dimensions must not take values that clients choose.

import CoreMetrics
import Foundation
import Synchronization

/// Keeps counters, gauges and histograms.
final class PrometheusMetrics: MetricsFactory {
    private struct Key: Hashable {
        var name: String
        /// As in the text, including braces.
        var labels: String
    }

    private enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    private struct Family {
        var kind: Kind
        var values: [Key: MetricValue] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    // MARK: Making

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        value(of: label + ".total", dimensions, .counter)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        value(of: label, dimensions, .gauge)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        value(of: label, dimensions, aggregate ? .histogram : .gauge)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        value(of: label + ".seconds", dimensions, .histogram)
    }

    // Counts stay valid after counting has stopped.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private func value(of label: String, _ dimensions: [(String, String)], _ kind: Kind) -> MetricValue {
        let name = Self.name(label)
        let key = Key(name: name, labels: Self.labels(dimensions))
        return families.withLock { families in
            if let known = families[name]?.values[key] { return known }
            let value = MetricValue(isHistogram: kind == .histogram)
            families[name, default: Family(kind: kind)].values[key] = value
            return value
        }
    }

    // MARK: Text

    /// All metrics, by name and then by dimensions.
    var text: String {
        let known = families.withLock { $0 }
        var lines: [String] = []
        for (name, family) in known.sorted(by: { $0.key < $1.key }) {
            lines.append("# TYPE \(name) \(family.kind.rawValue)")
            for (key, value) in family.values.sorted(by: { $0.key.labels < $1.key.labels }) {
                lines += value.lines(name: name, labels: key.labels)
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Letters, digits and underscores; anything else becomes an underscore.
    private static func name(_ label: String) -> String {
        String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    private static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { key, value in
            let escaped = value.replacingOccurrences(of: "\\", with: "\\\\")
                .replacingOccurrences(of: "\"", with: "\\\"").replacingOccurrences(of: "\n", with: "\\n")
            return "\(name(key))=\"\(escaped)\""
        }.joined(separator: ",")
    }
}

/// One metric with its dimensions.
private final class MetricValue: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    /// Upper bounds, in seconds: from a read out of memory to an unacceptably slow request.
    private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private struct State {
        /// A counter's or a gauge's value, a histogram's sum.
        var sum = 0.0
        var count = 0
        /// How many values were at most as large as each bound, and larger than the one before.
        var buckets = [Int](repeating: 0, count: MetricValue.bounds.count)
    }

    private let isHistogram: Bool
    private let state = Mutex(State())

    init(isHistogram: Bool) {
        self.isHistogram = isHistogram
    }

    func increment(by amount: Int64) { add(Double(amount)) }
    func reset() { set(0.0) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0.sum = value } }
    func increment(by amount: Double) { add(amount) }
    func decrement(by amount: Double) { add(-amount) }
    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func record(_ value: Double) {
        guard isHistogram else { return set(value) }
        state.withLock { state in
            state.sum += value
            state.count += 1
            if let index = Self.bounds.firstIndex(where: { value <= $0 }) { state.buckets[index] += 1 }
        }
    }

    private func add(_ amount: Double) { state.withLock { $0.sum += amount } }

    func lines(name: String, labels: String) -> [String] {
        let now = state.withLock { $0 }
        let braced = labels.isEmpty ? "" : "{\(labels)}"
        guard isHistogram else { return ["\(name)\(braced) \(now.sum)"] }
        var lines: [String] = []
        var count = 0
        let before = labels.isEmpty ? "" : labels + ","
        for (bound, bucket) in zip(Self.bounds, now.buckets) {
            count += bucket
            lines.append("\(name)_bucket{\(before)le=\"\(bound)\"} \(count)")
        }
        lines.append("\(name)_bucket{\(before)le=\"+Inf\"} \(now.count)")
        lines.append("\(name)_sum\(braced) \(now.sum)")
        lines.append("\(name)_count\(braced) \(now.count)")
        return lines
    }
}
