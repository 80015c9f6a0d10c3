import BluetoothCore

/// One page that needs nothing else: figures, invariants, and the drill on a line of time. Well-formed as XML too.
package struct HTMLReport {
    let history: History
    let tally: Tally

    var text: String {
        let verdict = tally.isOK ? "Every promise held" : "\(tally.violations.count) violations"
        let body = """
            <h1>Latch drill <span class="\(tally.isOK ? "ok" : "bad")">\(verdict)</span></h1>
            <p>A lock and a key as processes, killed with SIGKILL \(tally.kills) times and started again, while an attacker
            replayed what he had heard. Seed \(tally.seed), \(Self.seconds(history.ended &- history.began)) s.</p>
            \(figures)
            <h2>Timeline</h2>
            \(Timeline(history: history).text)
            <h2>Invariants</h2>
            \(invariants)
            <h2>Kills</h2>
            \(kills)
            """
        return Self.page(title: "Latch drill, seed \(tally.seed): \(verdict)", body: body)
    }

    /// A page of any drill, complete with its style.
    package static func page(title: String, body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8"/>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <title>\(XMLText.escaped(title))</title>
        <style>\(style)</style>
        </head>
        <body>
        <main>
        \(body)
        </main>
        </body>
        </html>

        """
    }

    package static func figures(_ cells: [(String, String)]) -> String {
        "<dl>"
            + cells.map { "<div><dt>\(XMLText.escaped($0.0))</dt><dd>\(XMLText.escaped($0.1))</dd></div>" }.joined(
                separator: "\n")
            + "</dl>"
    }

    package static func table(_ heads: [String], _ rows: [[String]]) -> String {
        let head = heads.map { "<th>\(XMLText.escaped($0))</th>" }.joined()
        let body = rows.map { row in "<tr>" + row.map { "<td>\(XMLText.escaped($0))</td>" }.joined() + "</tr>" }
        return "<div class=\"wide\"><table><thead><tr>\(head)</tr></thead><tbody>" + body.joined(separator: "\n")
            + "</tbody></table></div>"
    }

    static func seconds(_ nanoseconds: UInt64) -> String {
        let tenths = nanoseconds / 100_000_000
        return "\(tenths / 10).\(tenths % 10)"
    }

    private var figures: String {
        let cells: [(String, String)] = [
            ("kills", "\(tally.kills)"), ("restored", "\(tally.restored)"),
            ("restore p50 / p99 / max", "\(tally.restore.p50) / \(tally.restore.p99) / \(tally.restore.max) ms"),
            ("commands accepted", "\(tally.commandsAccepted)"), ("executed", "\(tally.commandsExecuted)"),
            ("aborted or unknown", "\(tally.commandsAborted)"), ("lost", "\(tally.lost)"),
            ("done twice", "\(tally.duplicated)"), ("opened late", "\(tally.openedLate)"),
            ("replays sent", "\(tally.replaysSent)"), ("replays accepted", "\(tally.replayedAccepted)"),
            ("bonds lost", "\(tally.bondsLost)"), ("subscriptions lost", "\(tally.subscriptionsLost)"),
            ("pending connections lost", "\(tally.pendingConnectionsLost)"),
        ]
        return Self.figures(cells)
    }

    private var invariants: String {
        let rows = Invariant.allCases.map { invariant in
            let broken = tally.violations.filter { $0.invariant == invariant }
            let detail = broken.prefix(10).map { "<li>\(XMLText.escaped($0.text))</li>" }.joined()
            return "<tr><td class=\"\(broken.isEmpty ? "ok" : "bad")\">\(broken.isEmpty ? "held" : "broken")</td>"
                + "<td>\(XMLText.escaped(invariant.rawValue))\(detail.isEmpty ? "" : "<ul>\(detail)</ul>")</td></tr>"
        }
        return "<table><thead><tr><th>verdict</th><th>invariant</th></tr></thead><tbody>"
            + rows.joined(separator: "\n") + "</tbody></table>"
    }

    private var kills: String {
        let rows = history.kills.enumerated().map { index, kill in
            [
                "\(index + 1)", Self.seconds(kill.at &- history.began), kill.role.rawValue, kill.phase.title,
                kill.means,
                kill.evidence,
            ]
        }
        return Self.table(["no.", "at, s", "who", "when", "by", "evidence"], rows)
    }

    private static let style = """
        :root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--faint:#6a737d;--line:#d8dee4;--kill:#cf222e;\
        --restore:#1a7f37;--link:#0969da;--command:#8250df;--bolt:#bf8700;--attack:#bc4c00}
        @media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--faint:#8b949e;--line:#30363d;\
        --kill:#ff7b72;--restore:#3fb950;--link:#58a6ff;--command:#bc8cff;--bolt:#d29922;--attack:#f0883e}}
        body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
        main{max-width:72rem;margin:0 auto;padding:1.5rem}
        h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
        .ok{color:var(--restore)}.bad{color:var(--kill)}
        h1 span{font-weight:400;margin-left:.5rem}
        dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:.5rem}
        dl div{border:1px solid var(--line);border-radius:6px;padding:.5rem .75rem}
        dt{color:var(--faint);font-size:.8rem}dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
        .wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
        th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
        th{color:var(--faint);font-weight:500}ul{margin:.2rem 0;padding-left:1.2rem}
        svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .faint{fill:var(--faint)}
        svg .grid{stroke:var(--line)}.kill{stroke:var(--kill);stroke-width:2.5}.restore{fill:var(--restore)}
        .link{fill:var(--link)}.stranger{fill:var(--attack)}.command{fill:var(--command)}
        .refused{fill:none;stroke:var(--command);stroke-width:1.5}.bolt{stroke:var(--bolt);stroke-width:2;fill:none}
        .attack{fill:var(--attack);fill-opacity:.35}
        """
}
