// The ends of a range as lines. A bound need not be a key, so it is described as far as its parts go:
//   db 3 / zone 7 / records / …
//   after db 3 / zone 7 / records / "file.txt"
//   end of the store

import StratusModel

extension KeyDescription {
    /// The line for a bound of a range, whatever its bytes are.
    package static func text(ofBound bound: [UInt8]) -> String {
        guard let first = bound.first else { return "start of the store" }
        // No element begins so.
        if first == 0xFF { return "end of the store" }
        if let line = line(of: bound) { return line }
        if bound.last == 0, let line = line(of: Array(bound.dropLast())) { return "after \(line)" }
        var pieces: [String] = []
        do throws(LayoutError) {
            try read(bound.span, into: &pieces)
        } catch {
            if pieces.isEmpty { pieces = beginning(of: bound) }
        }
        return pieces.isEmpty ? "x'\(Hex.text(bound, limit: 64))'" : (pieces + ["…"]).joined(separator: " / ")
    }

    /// The line of a whole key, or nil when it is none.
    private static func line(of key: [UInt8]) -> String? {
        var pieces: [String] = []
        do throws(LayoutError) {
            try read(key.span, into: &pieces)
            return pieces.joined(separator: " / ")
        } catch {
            return nil
        }
    }

    /// The database, and the zone if it is there.
    private static func beginning(of bound: [UInt8]) -> [String] {
        var pieces: [String] = []
        do throws(LayoutError) {
            var reader = try KeyReader(bound.span, after: 0, in: .unknown)
            let database = DatabaseNumber(try reader.readNumber())
            pieces.append(database == .outside ? "global" : "\(database)")
            let zone = ZoneNumber(try reader.readNumber())
            if zone != .outside { pieces.append("\(zone)") }
        } catch {
            return pieces
        }
        return pieces
    }
}
