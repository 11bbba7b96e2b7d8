"""The code that shares a launch among threads, as LLVM IR (``pool.py`` tells what it does)."""

from __future__ import annotations

import platform

from . import talk

#: Offsets in the state, each on a cache line of its own.
SEQ, NEXT, ACTIVE, JOB, STATUS, SLEEPERS, BUSY, LIMIT, IDS, WANTED, STOP = range(0, 11 * 64, 64)
STATE_BYTES = 12 * 64

#: What ``run`` answers, having done nothing, when workers are wanted and none has been started.
NO_WORKERS = -1
#: What it answers when there is more to run: called again, it goes on from there.
PAUSED = -2

#: Cycles below which a launch is not shared (about 8 us), and from which sleeping workers are woken.
SHARE_CYCLES = 20_000
WAKE_CYCLES = 250_000
#: Cycles a worker looks for work before it sleeps.
SPIN_CYCLES = 250_000
#: Into how many chunks a launch is cut at least; the cycles (about 2 ms, as far as the chunk before
#: tells) and the programs that one has at most. The first has one program (or two, where all have):
#: what programs cost in launches before, with other arguments, need not be what they cost now.
CHUNKS = 32
CHUNK_CYCLES = 5_000_000
CHUNK_PROGRAMS = 8192
#: Cycles after which a launch pauses (about 100 ms), or this many programs, but at most (0.8 s). Who
#: has no program left waits for the others before a pause.
PAUSE_CYCLES, PAUSE_PROGRAMS, PAUSE_AT_MOST = 250_000_000, 32, 2_000_000_000

FUTEX = {"x86_64": 202, "aarch64": 98}


def source(entry: str) -> str:
    """A module with ``entry``, which runs a launch, ``entry_worker``, which a thread runs, and
    ``entry_stop``, which ends them."""
    arch = "x86_64" if platform.machine().lower() in ("x86_64", "amd64") else "aarch64"
    pause = 'call void asm sideeffect "pause", ""()'
    if arch == "aarch64":
        pause = 'call void asm sideeffect "yield", ""()'
    futex = FUTEX[arch]

    def field(name: str, offset: int) -> str:
        return f"  %{name} = getelementptr i8, ptr %s, i64 {offset}\n"

    return f"""
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i64 @llvm.readcyclecounter()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

define i64 @{entry}_programs(i64 %cycles, i64 %programs) alwaysinline {{
  %some = call i64 @llvm.smax.i64(i64 %cycles, i64 1)
  %times = mul i64 %programs, {CHUNK_CYCLES}
  %ratio = sdiv i64 %times, %some
  %most = call i64 @llvm.smin.i64(i64 %ratio, i64 {CHUNK_PROGRAMS})
  %least = call i64 @llvm.smax.i64(i64 %most, i64 1)
  ret i64 %least
}}

define i1 @{entry}_long(i64 %spent, i64 %cycles, i64 %programs) alwaysinline {{
  %some = icmp sgt i64 %spent, {PAUSE_CYCLES}
  br i1 %some, label %weigh, label %no
weigh:
  %each = sdiv i64 %cycles, %programs
  %times = mul i64 %each, {PAUSE_PROGRAMS}
  %most = call i64 @llvm.smin.i64(i64 %times, i64 {PAUSE_AT_MOST})
  %found = icmp sgt i64 %spent, %most
  ret i1 %found
no:
  ret i1 false
}}

define ptr @{entry}_worker(ptr %s) {{
entry:
{field("next", NEXT)}{field("active", ACTIVE)}{field("fnp", JOB)}{field("argsp", JOB + 8)}\
{field("totalp", JOB + 16)}{field("chunkp", JOB + 24)}{field("statusp", STATUS)}\
{field("sleepers", SLEEPERS)}{field("limitp", LIMIT)}{field("ids", IDS)}{field("stop", STOP)}
  %id = atomicrmw add ptr %ids, i32 1 seq_cst
  br label %idle
idle:
  %last = phi i32 [ 0, %entry ], [ %now, %finished ], [ %now, %skip ], [ %last, %slept ]
  %begin = call i64 @llvm.readcyclecounter()
  br label %spin
spin:
  %now = load atomic i32, ptr %s seq_cst, align 4
  %same = icmp eq i32 %now, %last
  br i1 %same, label %pause, label %job
pause:
  {pause}
  %t = call i64 @llvm.readcyclecounter()
  %spent = sub i64 %t, %begin
  %tired = icmp ugt i64 %spent, {SPIN_CYCLES}
  br i1 %tired, label %sleep, label %spin
sleep:
  %in = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr %s, i32 128, i32 %last, ptr null, ptr null, i32 0)
  %out = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %slept
slept:
  br label %idle
job:
  %ending = load atomic i32, ptr %stop seq_cst, align 4
  %go = icmp eq i32 %ending, 0
  br i1 %go, label %look, label %leave
leave:
  ret ptr null
look:
  %limit = load atomic i32, ptr %limitp monotonic, align 4
  %mine = icmp ult i32 %id, %limit
  br i1 %mine, label %start, label %skip
skip:
  br label %idle
start:
  %joined = atomicrmw add ptr %active, i32 1 seq_cst
  br label %take
take:
  %chunk = load atomic i64, ptr %chunkp monotonic, align 8
  %i = atomicrmw add ptr %next, i64 %chunk seq_cst
  %total = load i64, ptr %totalp, align 8
  %left = icmp slt i64 %i, %total
  br i1 %left, label %work, label %finished
work:
  %fn = load ptr, ptr %fnp, align 8
  %args = load ptr, ptr %argsp, align 8
  %e = add i64 %i, %chunk
  %end = call i64 @llvm.smin.i64(i64 %e, i64 %total)
  %st = call i32 %fn(ptr %args, i64 %i, i64 %end)
  %or = atomicrmw or ptr %statusp, i32 %st seq_cst
  %wrong = icmp ne i32 %st, 0
  br i1 %wrong, label %quit, label %take
quit:
  %rest = atomicrmw xchg ptr %next, i64 {1 << 62} seq_cst
  br label %take
finished:
  %left_ = atomicrmw sub ptr %active, i32 1 seq_cst
  br label %idle
}}

define i32 @{entry}_stop(ptr %s) {{
{field("busy", BUSY)}{field("stop", STOP)}\
  %got = cmpxchg ptr %busy, i32 0, i32 1 seq_cst seq_cst
  %ok = extractvalue {{ i32, i1 }} %got, 1
  br i1 %ok, label %tell, label %not
tell:
  store atomic i32 1, ptr %stop seq_cst, align 4
  %seq = atomicrmw add ptr %s, i32 1 seq_cst
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr %s, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  ret i32 1
not:
  ret i32 0
}}

define i32 @{entry}(ptr %d) {{
entry:
  %fn = load ptr, ptr %d, align 8
  %sp = getelementptr i8, ptr %d, i64 8
  %s = load ptr, ptr %sp, align 8
  %cp = getelementptr i8, ptr %d, i64 16
  %costp = load ptr, ptr %cp, align 8
  %tp = getelementptr i8, ptr %d, i64 24
  %total = load i64, ptr %tp, align 8
  %firstp = getelementptr i8, ptr %d, i64 32
  %first = load i64, ptr %firstp, align 8
  %todo = sub i64 %total, %first
  %args = getelementptr i8, ptr %d, i64 {talk.ARGUMENTS}
{field("next", NEXT)}{field("active", ACTIVE)}{field("fnp", JOB)}{field("argsp", JOB + 8)}\
{field("totalp", JOB + 16)}{field("chunkp", JOB + 24)}{field("statusp", STATUS)}\
{field("sleepers", SLEEPERS)}{field("busy", BUSY)}{field("limitp", LIMIT)}\
{field("wantedp", WANTED)}
  %begin = call i64 @llvm.readcyclecounter()
  %none = icmp eq ptr %costp, null
  br i1 %none, label %serial, label %look
look:
  %limit = load atomic i32, ptr %limitp monotonic, align 4
  %wanted = load atomic i32, ptr %wantedp monotonic, align 4
  %any = or i32 %limit, %wanted
  %idle = icmp eq i32 %any, 0
  %one = icmp slt i64 %todo, 2
  %no = or i1 %idle, %one
  br i1 %no, label %serial, label %guess
guess:
  %cost = load double, ptr %costp, align 8
  %count = sitofp i64 %todo to double
  %estimate = fmul double %cost, %count
  %known = fcmp ogt double %cost, 0.0
  %small = fcmp olt double %estimate, {float(SHARE_CYCLES)}
  %inline = and i1 %known, %small
  br i1 %inline, label %serial, label %lacking
lacking:
  %lack = icmp eq i32 %limit, 0
  br i1 %lack, label %nobody, label %claim
nobody:
  ret i32 {NO_WORKERS}
claim:
  %got = cmpxchg ptr %busy, i32 0, i32 1 seq_cst seq_cst
  %ok = extractvalue {{ i32, i1 }} %got, 1
  br i1 %ok, label %share, label %serial
serial:
  br label %piece
piece:
  %from = phi i64 [ %first, %serial ], [ %to, %more ]
  %many = phi i64 [ 1, %serial ], [ %many2, %more ]
  %b0 = phi i64 [ %begin, %serial ], [ %b1, %more ]
  %upto = add i64 %from, %many
  %to = call i64 @llvm.smin.i64(i64 %upto, i64 %total)
  %r1 = call i32 %fn(ptr %args, i64 %from, i64 %to)
  %b1 = call i64 @llvm.readcyclecounter()
  %bd = sub i64 %b1, %b0
  %bn = sub i64 %to, %from
  %wrong = icmp ne i32 %r1, 0
  %over = icmp sge i64 %to, %total
  %stop = or i1 %wrong, %over
  br i1 %stop, label %stopped, label %goes
goes:
  %spent = sub i64 %b1, %begin
  %tired = call i1 @{entry}_long(i64 %spent, i64 %bd, i64 %bn)
  br i1 %tired, label %stopped, label %more
more:
  %many2 = call i64 @{entry}_programs(i64 %bd, i64 %bn)
  br label %piece
stopped:
  %r2 = phi i32 [ %r1, %piece ], [ {PAUSED}, %goes ]
  store i64 %to, ptr %firstp, align 8
  br i1 %none, label %return, label %note
note:
  %ad = sub i64 %b1, %begin
  %an = sub i64 %to, %first
  %af = sitofp i64 %ad to double
  %at_ = sitofp i64 %an to double
  %ac = fdiv double %af, %at_
  store double %ac, ptr %costp, align 8
  br label %return
return:
  ret i32 %r2
share:
  %part = sdiv i64 %todo, {CHUNKS}
  %part1 = call i64 @llvm.smax.i64(i64 %part, i64 1)
  %few = icmp sle i64 %part1, 2
  %chunk0 = select i1 %few, i64 %part1, i64 1
  store ptr %fn, ptr %fnp, align 8
  store ptr %args, ptr %argsp, align 8
  store i64 %total, ptr %totalp, align 8
  store atomic i64 %chunk0, ptr %chunkp monotonic, align 8
  store atomic i32 0, ptr %statusp seq_cst, align 4
  store atomic i64 %first, ptr %next seq_cst, align 8
  %seq = atomicrmw add ptr %s, i32 1 seq_cst
  br label %maybe
maybe:
  %chunk = phi i64 [ %chunk0, %share ], [ %chunk2, %did ]
  %acc = phi i64 [ 0, %share ], [ %acc2, %did ]
  %done = phi i64 [ 0, %share ], [ %done2, %did ]
  %woken = phi i1 [ false, %share ], [ %woken2, %did ]
  %each = phi double [ %cost, %share ], [ %each2, %did ]
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %some = icmp sgt i32 %asleep, 0
  %notyet = xor i1 %woken, true
  %can = and i1 %some, %notyet
  br i1 %can, label %weigh, label %take
weigh:
  %at = load atomic i64, ptr %next monotonic, align 8
  %rest = sub i64 %total, %at
  %restf = sitofp i64 %rest to double
  %ahead = fmul double %restf, %each
  %worth = fcmp oge double %ahead, {float(WAKE_CYCLES)}
  br i1 %worth, label %wake, label %take
wake:
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr %s, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  br label %take
take:
  %woken2 = phi i1 [ %woken, %maybe ], [ %woken, %weigh ], [ true, %wake ]
  %i = atomicrmw add ptr %next, i64 %chunk seq_cst
  %left = icmp slt i64 %i, %total
  br i1 %left, label %work, label %close
work:
  %e = add i64 %i, %chunk
  %end = call i64 @llvm.smin.i64(i64 %e, i64 %total)
  %t0 = call i64 @llvm.readcyclecounter()
  %st = call i32 %fn(ptr %args, i64 %i, i64 %end)
  %t1 = call i64 @llvm.readcyclecounter()
  %or = atomicrmw or ptr %statusp, i32 %st seq_cst
  br label %did
did:
  %dt = sub i64 %t1, %t0
  %acc2 = add i64 %acc, %dt
  %dn = sub i64 %end, %i
  %done2 = add i64 %done, %dn
  %accf = sitofp i64 %acc2 to double
  %donef = sitofp i64 %done2 to double
  %each2 = fdiv double %accf, %donef
  %fits = call i64 @{entry}_programs(i64 %dt, i64 %dn)
  %chunk2 = call i64 @llvm.smin.i64(i64 %part1, i64 %fits)
  store atomic i64 %chunk2, ptr %chunkp monotonic, align 8
  %passed = sub i64 %t1, %begin
  %long_ = call i1 @{entry}_long(i64 %passed, i64 %dt, i64 %dn)
  %failed = icmp ne i32 %st, 0
  %ends_ = or i1 %long_, %failed
  br i1 %ends_, label %close, label %maybe
close:
  %known_ = phi double [ %each, %take ], [ %each2, %did ]
  %reached = atomicrmw xchg ptr %next, i64 {1 << 62} seq_cst
  store i64 %reached, ptr %firstp, align 8
  store double %known_, ptr %costp, align 8
  br label %wait
wait:
  %n = phi i32 [ 0, %close ], [ %n2, %again ]
  %running = load atomic i32, ptr %active seq_cst, align 4
  %free = icmp eq i32 %running, 0
  br i1 %free, label %end_, label %relax
relax:
  %n2 = add i32 %n, 1
  %long = icmp ugt i32 %n2, 4000
  br i1 %long, label %yield, label %brief
brief:
  {pause}
  br label %again
yield:
  %y = call i32 @sched_yield()
  br label %again
again:
  br label %wait
end_:
  %status = load atomic i32, ptr %statusp seq_cst, align 4
  store atomic i32 0, ptr %busy seq_cst, align 4
  %all = icmp sge i64 %reached, %total
  %bad = icmp ne i32 %status, 0
  %ends = or i1 %all, %bad
  %answer = select i1 %ends, i32 %status, i32 {PAUSED}
  ret i32 %answer
}}
"""
