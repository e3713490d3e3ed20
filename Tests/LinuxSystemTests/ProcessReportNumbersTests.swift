import LinuxSystem
import Testing

@Suite("Numbers of process reports") struct ProcessReportNumbersTests {
    private func gap(_ reports: (number: UInt32, processor: UInt32)...) -> Bool {
        var numbers = ProcessReportNumbers()
        for report in reports { numbers.take(report.number, on: report.processor) }
        return numbers.takeGap()
    }

    @Test func eachProcessorCountsByItself() {
        #expect(!gap())
        #expect(!gap((7, 0), (100, 1), (8, 0), (101, 1), (9, 0)))
        #expect(gap((7, 0), (100, 1), (8, 0), (102, 1)))
    }

    @Test func theNumbersBeginAnewAfterTheLargest() {
        #expect(!gap((.max - 1, 0), (.max, 0), (0, 0), (1, 0)))
        #expect(gap((.max, 0), (1, 0)))
    }

    @Test func whatHasNoProcessorHasNoPlace() {
        #expect(!gap((7, 0), (500, .max), (3, .max), (8, 0)))
    }

    @Test func aGapIsToldOnce() {
        var numbers = ProcessReportNumbers()
        for number: UInt32 in [1, 3, 4] { numbers.take(number, on: 0) }
        let first = numbers.takeGap()
        let second = numbers.takeGap()
        numbers.take(5, on: 0)
        let third = numbers.takeGap()
        #expect([first, second, third] == [true, false, false])
    }
}
