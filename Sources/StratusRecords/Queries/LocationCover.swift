// The cells that a circle may touch, as few ranges of cell numbers. They may cover more than the circle, never less. A
// query over them measures every distance.
//
// The circle is in a box of degrees, or in two if it crosses the 180th meridian. A box with a pole reaches around the
// Earth. Squares of cells that touch a box are halved until there are about as many squares as ranges are allowed.

import StratusLayout
import StratusModel

enum LocationCover {
    /// The most squares, and so ranges: each costs a seek.
    static let maximumSquareCount = 16

    /// Squares of cells: `size` columns and rows, a power of two.
    private struct Square {
        var x: UInt32
        var y: UInt32
        var size: UInt32

        var cells: ClosedRange<UInt64> {
            let first = LocationCell(x: x, y: y).number
            return first...first + UInt64(size) * UInt64(size) - 1
        }

        var quarters: [Square] {
            let half = size / 2
            return [(0, 0), (half, 0), (0, half), (half, half)]
                .map { Square(x: x + $0.0, y: y + $0.1, size: half) }
        }
    }

    private struct Box {
        var columns: ClosedRange<UInt32>
        var rows: ClosedRange<UInt32>

        func touches(_ square: Square) -> Bool {
            columns.overlaps(square.x...square.x + square.size - 1)
                && rows.overlaps(square.y...square.y + square.size - 1)
        }

        func holds(_ square: Square) -> Bool {
            columns.contains(square.x) && columns.contains(square.x + square.size - 1) && rows.contains(square.y)
                && rows.contains(square.y + square.size - 1)
        }
    }

    /// Ascending ranges of cell numbers, apart from one another.
    static func ranges(around centre: Location, radiusMetres: Double) -> [ClosedRange<UInt64>] {
        guard centre.isOnEarth, radiusMetres > 0 else { return [] }
        let boxes = boxes(around: centre, radiusMetres: min(radiusMetres, 4 * GreatCircle.earthRadiusMetres))
        var whole: [Square] = []
        var partial = [Square(x: 0, y: 0, size: 1 << UInt32(LocationCell.bitCount))]
        while let size = partial.first?.size, size > 1 {
            var (held, touched) = (whole, [Square]())
            for square in partial.flatMap(\.quarters) {
                if boxes.contains(where: { $0.holds(square) }) {
                    held.append(square)
                } else if boxes.contains(where: { $0.touches(square) }) {
                    touched.append(square)
                }
            }
            guard held.count + touched.count <= maximumSquareCount else { break }
            (whole, partial) = (held, touched)
        }
        return joined((whole + partial).map(\.cells))
    }

    private static func boxes(around centre: Location, radiusMetres: Double) -> [Box] {
        // A little more, for what rounding loses.
        let radius = GreatCircle.degrees(ofMetres: radiusMetres) * (1 + 1e-9) + 1e-6
        let reach =
            GreatCircle.longitudeReachDegrees(latitudeDegrees: centre.latitudeDegrees, radiusDegrees: radius)
            * (1 + 1e-9) + 1e-6
        let rows =
            LocationCell.row(
                latitudeDegrees: max(-90, centre.latitudeDegrees - radius))...LocationCell.row(
                latitudeDegrees: min(90, centre.latitudeDegrees + radius))
        let (west, east) = (centre.longitudeDegrees - reach, centre.longitudeDegrees + reach)
        var spans = [(max(-180, west), min(180, east))]
        if reach >= 180 {
            spans = [(-180, 180)]
        } else {
            if west < -180 { spans.append((west + 360, 180)) }
            if east > 180 { spans.append((-180, east - 360)) }
        }
        return spans.map { span in
            let columns =
                LocationCell.column(
                    longitudeDegrees: span.0)...LocationCell.column(longitudeDegrees: max(span.0, span.1))
            return Box(columns: columns, rows: rows)
        }
    }

    private static func joined(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
        var joined: [ClosedRange<UInt64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, range.lowerBound <= last.upperBound + 1 {
                joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        return joined
    }
}
