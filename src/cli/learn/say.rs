//! What the subcommand says itself, in English and Chinese.

use std::path::Path;

use super::preflight::Ways;
use super::{file_of, shown};
use crate::learn::{Language, Lesson};

/// Sentences in a language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Say {
    pub language: Language,
}

/// Chapters as they are called in lists.
const CHAPTERS: &[(&str, &str, &str)] = &[
    ("basics", "First steps", "入门"),
    ("numbers", "Sums and distributions", "求和与分布"),
    ("time", "Time", "时间"),
    ("cpu", "Processors and processes", "处理器与进程"),
    ("memory", "Memory", "内存"),
    ("storage", "Files and disks", "文件与磁盘"),
    ("network", "The network", "网络"),
    ("user", "Inside programs", "程序内部"),
    ("language", "More of the language", "语言进阶"),
    ("craft", "The craft", "追踪的功夫"),
];

impl Say {
    pub const fn new(language: Language) -> Self {
        Self { language }
    }

    fn is_zh(self) -> bool {
        self.language == Language::Chinese
    }

    pub fn chapter(self, name: &str) -> String {
        let known = CHAPTERS.iter().find(|(id, ..)| *id == name);
        known.map_or_else(
            || crate::model::render::neutralise(name).into_owned(),
            |(_, english, chinese)| self.language.pick(english, chinese).to_owned(),
        )
    }

    pub fn ways(self, ways: &Ways) -> String {
        match (&ways.live, ways.recorded) {
            (Ok(()), true) => self.language.pick("live, or on a recording", "实时，或在录制上").to_owned(),
            (Ok(()), false) => self.language.pick("live", "实时").to_owned(),
            (Err(_), true) => self.language.pick("on a recording", "在录制上").to_owned(),
            (Err(why), false) if self.is_zh() => format!("此处不可用：{why}"),
            (Err(why), false) => format!("not here: {why}"),
        }
    }

    pub fn summary(self, done: usize, all: usize) -> String {
        if self.is_zh() {
            format!("已完成 {done} / {all} 课。`probescope learn 编号` 打开一课。")
        } else {
            format!("{done} of {all} lessons are done. `probescope learn NUMBER` opens one.")
        }
    }

    pub fn no_lesson(self, name: &str, lessons: &[Lesson]) -> String {
        let name = crate::model::render::neutralise(name).into_owned();
        let (first, last) = (lessons.first().map_or("", Lesson::number), lessons.last().map_or("", Lesson::number));
        if self.is_zh() {
            format!("没有第 {name} 课；有 {first} 到 {last}（`probescope learn --list`）")
        } else {
            format!("there is no lesson `{name}`; there are {first} to {last} (`probescope learn --list`)")
        }
    }

    pub fn task(self) -> &'static str {
        self.language.pick("YOUR TASK", "你的任务")
    }

    pub fn written(self, file: &Path) -> String {
        let file = shown(file);
        if self.is_zh() { format!("开头已写入 {file}。") } else { format!("This beginning is in {file} now.") }
    }

    pub fn kept(self, file: &Path) -> String {
        let file = shown(file);
        if self.is_zh() {
            format!("{file} 已经存在，保持不变。")
        } else {
            format!("{file} is there already and stays as it is.")
        }
    }

    pub fn not_written(self, file: &Path, why: &std::io::Error) -> String {
        let file = shown(file);
        if self.is_zh() { format!("{file} 无法写入：{why}") } else { format!("{file} cannot be written: {why}") }
    }

    pub fn next(self, lesson: &Lesson, ways: &str) -> String {
        let (number, file) = (lesson.number(), file_of(lesson));
        if self.is_zh() {
            format!(
                "编辑它，然后：probescope learn --check {number} {file}   （{ways}）\n需要帮助：probescope learn --hint {number}"
            )
        } else {
            format!(
                "Edit it, then: probescope learn --check {number} {file}   ({ways})\nFor help: probescope learn --hint {number}"
            )
        }
    }

    pub fn not_here(self, why: &str) -> String {
        if self.is_zh() {
            format!("这一课在此处不可用：{why}")
        } else {
            format!("this lesson does not work here: {why}")
        }
    }

    pub fn ran(self, lesson: &Lesson, recorded: bool, seed: u64) -> String {
        let load = &lesson.load;
        match (self.is_zh(), recorded) {
            (true, true) => format!("你的脚本在负载 {load} 的录制上运行了。"),
            (true, false) => format!("你的脚本与负载 {load} 一起运行了（--seed {seed}）。"),
            (false, true) => format!("Your script ran on a recording of the load `{load}`."),
            (false, false) => format!("Your script ran beside the load `{load}` (--seed {seed})."),
        }
    }

    pub fn passed(self, next: Option<&Lesson>) -> String {
        let done = self.language.pick("Passed.", "通过。");
        match (next, self.is_zh()) {
            (None, true) => format!("{done}所有课程都完成了。\n"),
            (None, false) => format!("{done} All lessons are done.\n"),
            (Some(next), true) => {
                format!("{done}下一课：{} {}\n", next.number(), next.text(self.language.code()).title)
            }
            (Some(next), false) => {
                format!("{done} Next: {} {}\n", next.number(), next.text(self.language.code()).title)
            }
        }
    }

    pub fn not_yet(self, lesson: &Lesson) -> String {
        let number = lesson.number();
        if self.is_zh() {
            format!("还没有通过。`probescope learn --hint {number}` 给出提示。\n")
        } else {
            format!("Not yet. `probescope learn --hint {number}` gives a hint.\n")
        }
    }

    pub fn refused(self, messages: &str) -> String {
        let head = self.language.pick(
            "Your script cannot run as it is; this is what the compiler or the kernel says:",
            "你的脚本还不能运行；编译器或内核是这样说的：",
        );
        let unsafe_note = if messages.contains("unsafe function") || messages.contains("needs the machine") {
            self.language.pick(
                "Lessons run without functions that change the machine, such as system(): what you need is in the probe.\n",
                "课程里不允许使用会改变机器的函数，例如 system()：你需要的东西探针里都有。\n",
            )
        } else {
            ""
        };
        format!("{head}\n\n{}\n\n{unsafe_note}", messages.trim_end())
    }

    pub fn too_long(self, seconds: u32) -> String {
        if self.is_zh() {
            format!("你的脚本在 {seconds} 秒之后还没有结束，所以停掉了它。有没有不会结束的循环？\n")
        } else {
            format!(
                "Your script had not ended after {seconds} seconds and was stopped. Is there a loop without an end?\n"
            )
        }
    }

    pub fn too_much(self) -> String {
        self.language
            .pick(
                "Your script printed more than 32 MiB and was stopped. Aggregate in a map, or print for the load only.\n",
                "你的脚本打印了超过 32 MiB，所以停掉了它。请用映射汇总，或者只为负载打印。\n",
            )
            .to_owned()
    }

    pub fn no_truth(self, messages: &str) -> String {
        let head = self.language.pick(
            "The load did not come to its end, so there is nothing to compare with. Does your script call exit()?",
            "负载没有运行到结束，所以没有可以比较的结果。你的脚本调用了 exit() 吗？",
        );
        if messages.trim().is_empty() { format!("{head}\n") } else { format!("{head}\n\n{}\n", messages.trim_end()) }
    }

    pub fn also(self, messages: &str) -> String {
        let head = self.language.pick("The program also said:", "程序还说：");
        format!("\n{head}\n{}\n", messages.trim_end())
    }
}
