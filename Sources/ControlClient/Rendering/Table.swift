/// Rows in aligned columns, two blanks apart, no wider than the terminal.
struct Table {
    struct Column {
        var title: String
        /// Aligned to the right.
        var isNumber = false
        /// Narrowed where the rows are too wide.
        var isFlexible = false
        /// A cell that does not fit goes on below instead of being cut.
        var isWrapped = false
        /// Where even that is not enough, the columns with the highest rank are left out first; 0: those of no rank
        /// from the right, but never the first one. No number is ever cut.
        var rank = 0
        /// Narrowed when those with a rank are gone, before others are.
        var yields = false
        /// Left out where no row has anything in it.
        var isRare = false

        fileprivate var narrowest: Int { isWrapped ? Table.narrowestWrapped : Table.narrowest }
    }

    private static let gap = 2
    /// To this a flexible column can shrink.
    fileprivate static let narrowest = 8
    /// And one whose cells go on below: in less nobody reads a sentence.
    fileprivate static let narrowestWrapped = 20

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
        blocks(width: width, indent: indent, titled: titled).flatMap(\.self)
    }

    /// The lines of each row.
    func blocks(width: Int, indent: Int = 0, titled: Bool = true) -> [[Styled]] {
        let titles = columns.map { Styled($0.title, .bold) }
        let whole = titled ? [titles] + rows : rows
        let shown = shown(whole, room: width - indent)
        let columns = shown.map { self.columns[$0] }
        let all = whole.map { row in shown.map { row[$0] } }
        let widths = Self.widths(of: all, columns, room: width - indent).widths
        let space = Styled(String(repeating: " ", count: indent))
        return all.map { row in
            Self.wrapped(row, columns, widths).map { (space + Self.line($0, columns, widths)).cut(to: width) }
        }
    }

    private static func line(_ row: [Styled], _ columns: [Column], _ widths: [Int]) -> Styled {
        let cells = zip(zip(row, columns), widths).map { cell, width in
            cell.0.cut(to: width).padded(to: width, right: cell.1.isNumber)
        }
        let gap = Styled(String(repeating: " ", count: gap))
        return cells.dropFirst().reduce(cells.first ?? Styled("")) { $0 + gap + $1 }
    }

    /// The lines of one row.
    private static func wrapped(_ row: [Styled], _ columns: [Column], _ widths: [Int]) -> [[Styled]] {
        let cells = zip(zip(row, columns), widths).map { cell, width in
            cell.1.isWrapped ? cell.0.wrapped(to: width) : [cell.0]
        }
        return (0..<(cells.map(\.count).max() ?? 0)).map { line in
            cells.map { $0.indices.contains(line) ? $0[line] : Styled("") }
        }
    }

    /// Which columns there is room for.
    private func shown(_ rows: [[Styled]], room: Int) -> [Int] {
        var shown = columns.indices.filter { column in
            !columns[column].isRare || self.rows.contains { $0[column].width > 0 }
        }
        while shown.count > 1 {
            let cells = rows.map { row in shown.map { row[$0] } }
            if Self.widths(of: cells, shown.map { columns[$0] }, room: room).excess <= 0 { break }
            let last = shown.dropFirst().max { (columns[$0].rank, $0) < (columns[$1].rank, $1) }
            shown.removeAll { $0 == last }
        }
        return shown
    }

    /// How wide the columns are, and what they take in excess of the room.
    private static func widths(
        of rows: [[Styled]], _ columns: [Column], room: Int
    ) -> (widths: [Int], excess: Int) {
        var widths = columns.indices.map { column in
            rows.reduce(1) { max($0, $1.indices.contains(column) ? $1[column].width : 0) }
        }
        var excess = widths.reduce(0, +) + gap * (widths.count - 1) - room
        // The widest gives first.
        while excess > 0,
            let widest = columns.indices.filter({ columns[$0].isFlexible && widths[$0] > columns[$0].narrowest })
                .max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
            excess -= 1
        }
        guard !columns.contains(where: { $0.rank > 0 }) else { return (widths, excess) }
        for column in columns.indices where columns[column].yields && excess > 0 {
            let given = min(excess, max(0, widths[column] - columns[column].narrowest))
            widths[column] -= given
            excess -= given
        }
        return (widths, excess)
    }
}
