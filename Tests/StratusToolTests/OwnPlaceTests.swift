// The directory of a store is for the store only, and a verb's temporary files are removed with it.

import Foundation
import Testing

@Suite("places that verbs write to")
struct OwnPlaceTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await directory.importTree()
    }

    private func shell(_ script: String) async throws -> ToolRun { try await ToolRun.shell(script, in: directory) }

    @Test("no verb creates anything in the directory of a store, by any path")
    func insideAStore() async throws {
        let before = try await shell("\"$TOOL\" backup copy --store store && ln -s store link && find store | sort")
        #expect(before.status == 0)
        for line in [
            "backup store/copy", "backup store/assets/copy", "backup link/copy", "backup ./tree/../store/copy",
            "repair store/salvaged", "export store/000123.log", "export link/export", "schema export store/s.ckdb",
            "tree --format svg --output store/CURRENT --force", "report --output store/report.html",
        ] {
            let run = try await shell("\"$TOOL\" \(line) --store store")
            #expect(run.status == 1, "stratus \(line): \(run.errors)")
            #expect(run.errors.contains("must contain nothing else"), "stratus \(line): \(run.errors)")
        }
        for line in [
            "init", "init --create-account bob", "zones create", "import-tree tree", "restore copy", "import export",
        ] {
            _ = try await shell("[ -e export ] || \"$TOOL\" export export --store store")
            let run = try await shell("\"$TOOL\" \(line) --store link/assets/new")
            #expect(run.status == 1, "stratus \(line): \(run.errors)")
            #expect(run.errors.contains("must contain nothing else"), "stratus \(line): \(run.errors)")
        }
        let after = try await shell("find store | sort")
        let added = Set(after.lines).subtracting(before.lines).filter { !$0.hasSuffix(".log") && !$0.contains("LOG") }
        #expect(added.allSatisfy { $0.hasSuffix(".ldb") || $0.contains("MANIFEST-") }, "\(added)")
    }

    @Test("a complete export stays if a signal arrives before the verb has reported it")
    func wholeExport() async throws {
        // The verb waits for room in a full pipe after it has closed and kept the file: asleep, without the file.
        let run = try await shell(
            """
            "$TOOL" export before --store store > /dev/null
            mkfifo pipe
            exec 3<> pipe
            dd if=/dev/zero of=pipe bs=4096 oflag=nonblock 2> /dev/null
            "$TOOL" export exported --store store > pipe 2> errors & child=$!
            waits() { # whether the file is complete, and closed, and the verb's own thread sleeps; in this order
              tail -1 exported 2> /dev/null | grep -q '^{"end"' || return 1
              ! ls -l /proc/$child/fd | grep -q '/exported$' || return 1
              grep -q '^State:[[:space:]]*S' /proc/$child/status
            }
            until waits || ! kill -0 $child 2> /dev/null; do sleep 0.01; done
            kill -TERM $child
            wait $child; echo $?
            cmp before exported; echo $?
            grep -c interrupted errors
            tail -1 exported | grep -c '^{"end"'
            """)
        #expect(run.lines == ["143", "0", "0", "1"], "\(run.output) \(run.errors)")
    }

    @Test("backups, restores, repairs, exports and benches ended by a signal leave nothing unfinished, and say so")
    func interrupted() async throws {
        // A file that is complete when the signal arrives stays.
        let run = try await shell(
            """
            "$TOOL" import-tree /usr/share/doc --store store > /dev/null && "$TOOL" backup copy --store store > /dev/null
            end() { # what is made; the pattern that says it has begun; a command
              "${@:3}" > out 2>&1 &
              child=$!
              while kill -0 $child 2> /dev/null && ! compgen -G "$2" > /dev/null; do :; done
              kill -TERM $child 2> /dev/null
              wait $child
              compgen -G '*.incomplete-*'; compgen -G '.stratus-draft-*'; compgen -G 'bench/*'
              [ $1 = bench ] && return 0
              if [ -e $1 ]; then there=1; else there=0; fi
              note="interrupted: nothing is left of $1; run the same command again to start over"
              [ $there$(grep -cF "$note" out) = 10 ] || [ $there$(grep -cF "$note" out) = 01 ] || cat out
              return 0
            }
            mkdir bench
            for round in 1 2 3 4 5; do
              end again 'again.incomplete-*' "$TOOL" backup again --store store
              end restored 'restored.incomplete-*' "$TOOL" restore copy --store restored
              end salvaged 'salvaged.incomplete-*' "$TOOL" repair salvaged --store store
              end exported '.stratus-draft-*' "$TOOL" export exported --store store
              end bench 'bench/*' "$TOOL" bench --records 1000000 --directory bench
              for whole in again restored salvaged; do
                if [ -e $whole ]; then "$TOOL" stats --store $whole > /dev/null || echo "damaged: $whole"; fi
              done
              if [ -e exported ]; then tail -1 exported | grep -q '^{"end"' || echo "cut: exported"; fi
              rm -rf again restored salvaged exported
            done
            """)
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        #expect(run.output.isEmpty, "\(run.output) \(run.errors)")
    }
}
