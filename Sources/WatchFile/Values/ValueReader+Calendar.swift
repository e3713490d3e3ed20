import Schedule

/// Calendar expressions, lines of crontab(5), and windows of both time and span.
extension ValueReader {
    func calendar(_ text: SourceText, _ problems: inout Problems) -> CalendarExpression? {
        do throws(CalendarExpression.ParseError) {
            return try CalendarExpression(parsing: text.string, zones: zones)
        } catch {
            let isCron = (try? CronExpression(parsing: text.string)) != nil
            let reason = isCron ? "it is a line of crontab(5): OnCron=\(text.string)" : "\(error)"
            refuse(
                "is no calendar expression", reason, at: isCron ? 0..<text.bytes.count : error.range, of: text,
                &problems)
            return nil
        }
    }

    func cron(_ problems: inout Problems) -> CronExpression? {
        do throws(CronExpression.ParseError) {
            return try CronExpression(parsing: text.string)
        } catch {
            refuse("is no line of crontab(5)", "\(error)", at: error.range, of: text, &problems)
            return nil
        }
    }

    /// `CALENDAR for SPAN`.
    func window(_ problems: inout Problems) -> CalendarWindow? {
        guard let separator = text.lastWord("for") else {
            refuse(&problems, "is not CALENDAR for SPAN, such as “Sun 04:00 for 1h”")
            return nil
        }
        let left = text[text.bytes.startIndex..<separator.lowerBound].trimmed
        let right = text[separator.upperBound..<text.bytes.endIndex].trimmed
        guard !left.isEmpty, !right.isEmpty else {
            refuse(&problems, left.isEmpty ? "has no calendar expression" : "has no span behind “for”")
            return nil
        }
        let calendar = calendar(left, &problems)
        guard let span = ValueReader(key: key, text: right, zones: zones).span(.any, &problems) else { return nil }
        let spans = CalendarWindow.spans
        guard spans.contains(span) else {
            let bounds = "\(spans.lowerBound) to \(spans.upperBound)"
            problems.error("the span of \(key.name)=\(text.shown) is not in \(bounds)", at: right)
            return nil
        }
        return calendar.map { CalendarWindow(calendar: $0, span: span) }
    }

    /// `range` counts from the beginning of `whole`.
    private func refuse(
        _ what: String, _ reason: String, at range: Range<Int>, of whole: SourceText, _ problems: inout Problems
    ) {
        let start = whole.bytes.startIndex
        let marked = whole[start + range.lowerBound..<start + range.upperBound]
        problems.error(
            "\(key.name)=\(whole.shown) \(what): \(reason)", at: marked.isEmpty ? whole : marked)
    }
}

extension SourceText {
    /// Where a word stands for the last time, white space before and behind it.
    fileprivate func lastWord(_ word: String) -> Range<Int>? {
        let word = Array(word.utf8)
        guard bytes.count >= word.count else { return nil }
        return (bytes.startIndex...bytes.endIndex - word.count).last { start in
            let end = start + word.count
            return bytes[start..<end].elementsEqual(word)
                && (start == bytes.startIndex || bytes[start - 1].isWhiteSpace)
                && (end == bytes.endIndex || bytes[end].isWhiteSpace)
        }.map { $0..<$0 + word.count }
    }
}
