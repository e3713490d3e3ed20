/// Rows in aligned columns, two blanks apart, no wider than the terminal.
struct Table {
    struct Column {
        var title: String
        /// Aligned to the right.
        var isNumber = false
        /// Narrowed where the rows are too wide.
        var isFlexible = false
        /// What does not fit goes on below instead of being cut.
        var isWrapped = false
    }

    private static let gap = 2
    /// To this a flexible column can shrink.
    private static let narrowest = 8

    private let columns: [Column]
    private var rows: [[Styled]] = []

    init(_ columns: [Column]) { self.columns = columns }

    var isEmpty: Bool { rows.isEmpty }

    /// - Parameter cells: one for each column.
    mutating func add(_ cells: [Styled]) { rows.append(cells) }

    /// - Parameters:
    ///   - indent: blanks before each line; counted in `width`.
    ///   - titled: whether the first line is the titles.
    func lines(width: Int, indent: Int = 0, titled: Bool = true) -> [Styled] {
        let titles = columns.map { Styled($0.title, .bold) }
        let all = titled ? [titles] + rows : rows
        let widths = widths(of: all, room: width - indent)
        return all.flatMap { wrapped($0, widths) }.map { row in
            let cells = zip(zip(row, columns), widths).map { cell, width in
                cell.0.cut(to: width).padded(to: width, right: cell.1.isNumber)
            }
            let gap = Styled(String(repeating: " ", count: Self.gap))
            let line = cells.dropFirst().reduce(cells.first ?? Styled("")) { $0 + gap + $1 }
            return (Styled(String(repeating: " ", count: indent)) + line).cut(to: width)
        }
    }

    /// The lines of one row.
    private func wrapped(_ row: [Styled], _ widths: [Int]) -> [[Styled]] {
        let cells = zip(zip(row, columns), widths).map { cell, width in
            cell.1.isWrapped ? cell.0.wrapped(to: width) : [cell.0]
        }
        return (0..<(cells.map(\.count).max() ?? 0)).map { line in
            cells.map { $0.indices.contains(line) ? $0[line] : Styled("") }
        }
    }

    private func widths(of rows: [[Styled]], room: Int) -> [Int] {
        var widths = columns.indices.map { column in
            rows.reduce(1) { max($0, $1.indices.contains(column) ? $1[column].width : 0) }
        }
        var excess = widths.reduce(0, +) + Self.gap * (widths.count - 1) - room
        // The widest gives first.
        while excess > 0,
            let widest = columns.indices.filter({ columns[$0].isFlexible && widths[$0] > Self.narrowest })
                .max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }
}
