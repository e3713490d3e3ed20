/// All that is known of one thing: its name, how it stands, and facts below.
struct FactSheet {
    private let title: Styled
    private let state: Styled
    private let screen: Screen
    private var facts: [(title: String, text: Styled)] = []

    init(_ name: String, _ state: Styled, _ screen: Screen) {
        (title, self.state, self.screen) = (Styled(name, .bold), state, screen)
    }

    /// A fact; one without a text is left out.
    mutating func add(_ title: String, _ text: String?) {
        if let text, !text.isEmpty { facts.append((title, Styled(text))) }
    }

    mutating func add(_ title: String, _ text: Styled) { facts.append((title, text)) }

    /// Where its section stands.
    mutating func addPlace(_ file: String?, _ line: Int?) {
        if let file, let line { add("defined", "\(file):\(line)") }
    }

    /// Several facts under one title.
    mutating func add(_ title: String, all texts: [Styled]) {
        for (index, text) in texts.enumerated() { add(index == 0 ? title : "", text) }
    }

    var lines: [Styled] {
        var table = Table([.init(title: ""), .init(title: "", isFlexible: true, isWrapped: true)])
        for (title, text) in facts { table.add([Styled(title, .dim), text]) }
        return screen.spread(title, state) + table.lines(width: screen.width, indent: 2, titled: false)
    }
}
