import Testing
import WatchFile

@Suite("[Unit]")
struct UnitTests {
    private func trigger(_ lines: String) -> UnitTrigger? {
        guard case .unit(let trigger) = load("[Unit x]\n\(lines)\nLog=x\n").configuration?.sources.first?.trigger else {
            return nil
        }
        return trigger
    }

    @Test func namesGetTheSuffixOfServicesAndGlobsStayAsTheyAre() {
        #expect(
            trigger(#"Unit=nginx ssh.socket getty@tty1 dev-disk-by\x2duuid.device org.gnome.Shell"#)?.units == [
                "nginx.service", "ssh.socket", "getty@tty1.service", #"dev-disk-by\x2duuid.device"#,
                "org.gnome.Shell.service",
            ])
        #expect(trigger("Unit=web-*\nUnit=web-* a?.[st]*").map(\.units) == ["web-*", "a?.[st]*"])
    }

    @Test func withoutEventsItIsFailures() {
        #expect(trigger("Unit=a")?.events == [.failed])
        #expect(trigger("Unit=a\nEvents=active inactive\nEvents=failed")?.events == [.active, .inactive, .failed])
        #expect(trigger("Unit=a\nEvents=activating deactivating")?.events == [.activating, .deactivating])
    }

    @Test(arguments: [
        ("Unit=a/b", "Unit=a/b is not the name of a unit"),
        ("Unit=/srv", "Unit=/srv is not the name of a unit: systemd-escape --path --suffix=mount (or device) gives it"),
        ("Unit=ä", "Unit=ä is not the name of a unit"),
        ("Unit=[.service", "Unit=[.service has a [ without its ]"),
        ("Unit=a[!]b*", "Unit=a[!]b* has a [ without its ]"),
        ("Unit=.service", "Unit=.service is not the name of a unit"),
        ("Unit=@x.service", "Unit=@x.service is not the name of a unit"),
        ("Unit=nginx.servce", "Unit=nginx.servce has the suffix of no kind of unit; did you mean nginx.service?"),
        (
            "Unit=a@.service",
            "Unit=a@.service is a template, which has no state: name an instance, or all as a glob; did you mean a@*.service?"
        ),
        (
            "Unit=a\nEvents=fails",
            "Events=fails is not one of failed, active, inactive, activating, deactivating; did you mean failed?"
        ),
        ("Events=failed", "[Unit x] never fires: it needs Unit="),
    ])
    func whatIsNoNameOfAUnitIsRefused(lines: String, sentence: String) {
        let found = load("[Unit x]\n\(lines)\nLog=x\n").diagnostics
        #expect(found.map(\.sentence) == [sentence])
    }

    @Test func theNearestNameIsSuggested() {
        func suggestion(_ unit: String) -> String? {
            load("[Unit x]\nUnit=\(unit)\nLog=x\n").diagnostics.first?.suggestion ?? nil
        }
        #expect(suggestion("nginx.servce") == "nginx.service")
        #expect(suggestion("a@.service") == "a@*.service")
    }

    @Test func aNameHasABound() {
        let longest = String(repeating: "a", count: 247) + ".service"
        #expect(trigger("Unit=\(longest)")?.units == [longest])
        #expect(
            load("[Unit x]\nUnit=a\(longest)\nLog=x\n").diagnostics.map(\.sentence) == [
                "the name of a unit has at most 255 bytes"
            ])
    }

    @Test func whatItWatchesIsNoAction() throws {
        let configuration = try #require(load("[Unit x]\nUnit=a\nExec=/bin/true\n").configuration)
        #expect(configuration.handlers.map(\.name) == ["x"])
        #expect(
            configuration.handlers.first?.action == .exec([Command(words: [.template(Template(literal: "/bin/true"))])])
        )
        #expect(
            load("[Unit x]\nUnit=a\n").diagnostics.map(\.sentence) == [
                "[Unit x] starts nothing: it needs Handler= or an action such as Exec="
            ])
    }

    @Test func aDefaultForAllOfThemIsNoActionEither() {
        let text = "[Unit]\nUnit=common.service\n[Unit x]\nUnit=a\nLog=x\n"
        #expect(load(text).diagnostics.isEmpty)
    }
}
